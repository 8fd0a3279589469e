// Tests the conversion of records to JSON and back.
#include "lab/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "folder.hpp"

namespace {

using namespace lab;
using nlohmann::json;

/// Returns a record that contains every kind of entry.
Record example() {
    Record record;
    record.version = "1.2.3";
    record.commit = "0123abc+";
    record.date = "2026-01-02T03:04:05Z";
    record.seconds = 12.5;
    record.machine.gpu =
        Machine::Gpu{1, "GPU", "9.0", 132, 1980, 2619, 150'000'000'000, "570.1", "12.8", "1980 MHz, 2619 MHz"};
    record.machine.cpu = "CPU";
    record.machine.threads = 16;
    record.machine.instructions = {"aes", "vaes"};
    record.machine.memory_bytes = std::uint64_t{1} << 40;
    record.machine.os = "Linux";
    record.machine.openssl = "OpenSSL 3";
    record.options = {{"N", "G.tables"}, true, 1, 16, "/disk", "/memory"};
    Entry entry{"G.tables",
                "G",
                "Gu",
                "Tables",
                "Which?",
                Status::measured,
                "",
                "abc1",
                1.25,
                0.25,
                Sampled{1200, 1980, 1980},
                Sampled{90, 610.5, 690},
                std::nullopt,
                {}};
    Panel lines{"By size",
                Panel::Kind::lines,
                {"input", "B", Axis::Scale::log, {16, 256}, {}},
                {"throughput", "GB/s", Axis::Scale::linear, {}, {}},
                {},
                {},
                "a note"};
    lines.series.push_back({"paper", Series::Role::published, {0.5, std::nullopt}, {}});
    lines.series.push_back(
        {"ours", Series::Role::measured, {0.1 + 0.2, 1e-300}, {Series::Spread{0.25, 0.5}, std::nullopt}});
    Panel surface{"Surface",
                  Panel::Kind::surface,
                  {"file", "B", Axis::Scale::log, {1, 2, 3}, {}},
                  {"buffer", "", Axis::Scale::category, {}, {"small", "large"}},
                  {"time", "s", Axis::Scale::log, {}, {}},
                  {{"fit", Series::Role::model, {1, 2, 3, 4, 5, std::nullopt}, {}}},
                  ""};
    entry.result.panels = {lines, surface};
    entry.result.facts = {{"hidden", 65.5, "%", 65}, {"error", 0.1, "", std::nullopt}};
    entry.result.verdicts = {{Verdict::Holds::partly, "It \"holds\" partly.", "G.a"}, {Verdict::Holds::no, "not", ""}};
    entry.result.notes = {"left out: ½"};
    record.experiments = {
        entry,
        {"W.leakage", "W", "ours", "Leakage", "Does it?", Status::left_out, "no GPU", "abc1", 0, {}, {}, {}, {}, {}},
        {"N.tables", "N", "Iwai", "T", "?", Status::failed, "wrong output", "abc2+", 0.5, {}, {}, {}, {}, {}},
        {"N.layout", "N", "Iwai", "L", "?", Status::not_run, "", "", 0, {}, {}, {}, {}, {}}};
    return record;
}

TEST(Record, WhatCannotBeIsRefused) {
    const auto refused = [](const auto& damage, const std::string& said) {
        json damaged = to_json(example());
        damage(damaged);
        try {
            (void)record_from_json(damaged);
            ADD_FAILURE() << said;
        } catch (const RecordError& error) {
            EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
        }
    };
    refused([](json& r) { r["experiments"].push_back(r["experiments"][0]); }, "G.tables is in it twice");
    refused([](json& r) { r["seconds"] = -1; }, "less than no time");
    refused([](json& r) { r["experiments"][0]["seconds"] = -0.5; }, "G.tables: it took less than no time");
    refused(
        [](json& r) {
            r["experiments"][0]["result"]["panels"][0]["series"][1]["spread"][0] = {0.5, 0.25};
        },
        "quartiles in the wrong order");
    refused([](json& r) { r.erase("machine"); }, "missing");
    refused([](json& r) { r["experiments"] = "none"; }, "wrong type");
}

TEST(Record, SurvivesJsonWhole) {
    const json first = to_json(example());
    const json second = to_json(record_from_json(json::parse(first.dump())));
    EXPECT_EQ(first, second);
    // The text to compare contains the input values.
    const json& entry = first["experiments"][0];
    EXPECT_EQ(first["schema"], 1);
    EXPECT_EQ(entry["status"], "measured");
    EXPECT_EQ(entry["result"]["panels"][0]["series"][1]["values"][0], 0.1 + 0.2);
    EXPECT_EQ(entry["result"]["panels"][0]["series"][1]["spread"], json::parse("[[0.25, 0.5], null]"));
    EXPECT_EQ(entry["result"]["panels"][0]["series"][0]["values"], json::parse("[0.5, null]"));
    EXPECT_EQ(entry["result"]["panels"][0]["series"][0]["role"], "published");
    EXPECT_EQ(entry["result"]["panels"][1]["z"]["unit"], "s");
    EXPECT_EQ(entry["result"]["panels"][1]["y"]["labels"], json::parse(R"(["small", "large"])"));
    EXPECT_EQ(entry["result"]["facts"][1]["published"], nullptr);
    EXPECT_EQ(entry["load"], 0.25);
    EXPECT_EQ(entry["clocks"], json::parse("[1200, 1980, 1980]"));
    EXPECT_EQ(entry["power"], json::parse("[90, 610.5, 690]"));
    EXPECT_EQ(entry["temperature"], nullptr);
    EXPECT_EQ(entry["result"]["verdicts"][0]["holds"], "partly");
    EXPECT_EQ(entry["result"]["verdicts"][0]["claim"], "G.a");
    EXPECT_EQ(first["experiments"][1]["reason"], "no GPU");
    EXPECT_EQ(first["experiments"][2]["commit"], "abc2+");
    EXPECT_EQ(first["machine"]["gpu"]["memory_bytes"], 150'000'000'000);
}

TEST(Record, WithoutAGpuSaysNull) {
    Record record = example();
    record.machine.gpu.reset();
    const json out = to_json(record);
    EXPECT_EQ(out["machine"]["gpu"], nullptr);
    EXPECT_FALSE(record_from_json(out).machine.gpu);
}

TEST(Record, WhatIsNoNumberIsNull) {
    Record record = example();
    record.experiments[0].result.facts[0].value = std::numeric_limits<double>::infinity();
    record.experiments[0].result.panels[0].series[0].values[0] = std::nan("");
    const json out = json::parse(to_json(record).dump());
    const Record back = record_from_json(out);
    EXPECT_TRUE(std::isnan(back.experiments[0].result.facts[0].value));
    EXPECT_FALSE(back.experiments[0].result.panels[0].series[0].values[0]);
}

TEST(Record, WhatIsNoRecordIsRefused) {
    const json good = to_json(example());
    const auto refused = [&](const char* pointer, const json& value) {
        json bad = good;
        bad[json::json_pointer(pointer)] = value;
        EXPECT_THROW(record_from_json(bad), RecordError) << pointer;
    };
    refused("/schema", 2);
    refused("/schema", "1");
    refused("/date", 5);
    refused("/experiments", 5);
    refused("/experiments/0/status", "perhaps");
    refused("/experiments/0/result/panels/0/kind", "pie");
    refused("/experiments/0/result/panels/0/series/0/values", json::array({1, 2, 3}));
    refused("/experiments/0/result/panels/0/series/1/spread", json::array({nullptr}));
    refused("/experiments/0/result/panels/0/series/1/name", "paper");
    refused("/experiments/0/result/panels/1/title", "By size");
    refused("/experiments/0/result/panels/0/kind", "bars");
    refused("/machine/gpu", "yes");
    EXPECT_THROW(record_from_json(json::object()), RecordError);
}

TEST(Record, IsStoredInOneStep) {
    const oracle::Folder folder;
    const std::filesystem::path path = folder.path() / "record.json";
    Record record = example();
    save(record, path);
    record.seconds = 99;
    save(record, path);
    EXPECT_EQ(load(path).seconds, 99);
    EXPECT_EQ(to_json(load(path)), to_json(record));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"record.json"});
}

TEST(Record, FilesThatCannotBe) {
    const oracle::Folder folder;
    EXPECT_THROW(load(folder.path() / "absent.json"), std::system_error);
    EXPECT_THROW(save(example(), folder.path() / "absent" / "record.json"), std::system_error);
    std::filesystem::create_directory(folder.path() / "folder");
    EXPECT_THROW(save(example(), folder.path() / "folder"), std::system_error);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "folder.new"));
    const std::filesystem::path cut = folder.path() / "cut.json";
    std::ofstream(cut) << to_json(example()).dump().substr(0, 200);
    EXPECT_THROW(load(cut), RecordError);
    std::ofstream(cut, std::ios::trunc) << "[]";
    EXPECT_THROW(load(cut), RecordError);
}

}  // namespace
