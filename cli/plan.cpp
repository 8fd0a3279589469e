// `warpaes plan`: shows the predicted time of a call on each backend, the library's choice, and the reason.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "elsewhere.hpp"
#include "numbers.hpp"
#include "predictions.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

struct PlanOptions {
    std::string mode, direction = "encrypt", from = "host", bytes, backend;
    unsigned key_bits = 128, threads = 0;
    int device = -1;
    std::uint64_t messages = 1, keys = 1;
    bool batch = false, as_json = false;
};

constexpr const char* plan_help = R"(Usage: warpaes plan --mode MODE --size N [options]

Predicts the time of a call on each backend of this machine, and prints the
backend that the library would choose and the reason, without running the call.
`warpaes calibrate` replaces the built-in figures with measurements.

  --mode MODE        ecb, cbc, cfb128, cfb8, cfb1, ofb, ctr, xts, gcm, ccm or
                     cmac
  --size N           size of each message, such as 1500, 64K, 1M or 1G
  --direction D      encrypt (default) or decrypt
  --key-bits N       128 (default), 192 or 256
  --messages N       number of messages in one batch (default: 1, no batch)
  --keys N           number of distinct keys (default: 1)
  --batch            plan a batch, even if it contains one message
  --from PLACE       memory that holds the data: host (pageable, default),
                     page-locked or device
  --backend NAME     assume this backend
  --device N         assume this GPU
  --threads N        maximum number of host threads (default: all processors)
  --json             print a JSON record

`warpaes plan --grid` measures how accurate the predictions are, if the program
warpaes-plan-grid is installed.

Examples
  warpaes plan --mode ctr --size 64M --from page-locked
  warpaes plan --mode cbc --size 16K --messages 65536
)";

warpaes_work to_work(const PlanOptions& o) {
    warpaes_work work = WARPAES_WORK_INIT;
    if (o.mode.empty() || o.bytes.empty()) {
        throw UsageError("--mode and --size are required; see `warpaes plan --help`");
    }
    work.key_bits = o.key_bits;
    work.mode = mode_named(o.mode);
    if (o.direction != "encrypt" && o.direction != "decrypt") {
        throw UsageError(fmt::format("--direction: '{}' is neither encrypt nor decrypt", o.direction));
    }
    work.direction = o.direction == "encrypt" ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    work.memory = memory_named(o.from);
    work.messages = o.messages;
    work.message_len = parse_bytes("--size", o.bytes);
    work.keys = o.keys;
    work.batch = o.batch || o.messages > 1 ? 1 : 0;
    return work;
}

std::string label(const std::string& name, int device) {
    return device < 0 ? name : fmt::format("{}[{}]", name, device);
}

void print_plan(const warpaes_work& work, const PlanOptions& o, const json& record) {
    const auto total = static_cast<double>(work.messages * work.message_len);
    fmt::print("{} of {}, {} {}ion, AES-{}, in {} memory\n\n",
               work.messages == 1 ? "1 message" : fmt::format("{} messages", work.messages),
               human_bytes(static_cast<double>(work.message_len)), o.mode, o.direction, work.key_bits,
               warpaes_memory_name(work.memory));
    fmt::print("{:<12}{:>12}{:>10}{:>9}\n", "backend", "predicted", "GB/s", "workers");
    for (const json& p : record["predictions"]) {
        const std::string name = label(p["backend"], p["device"]);
        if (!p["possible"].get<bool>()) {
            fmt::print("{:<12}{:>12}\n", name, "-");
            continue;
        }
        const double seconds = p["seconds"], cold = p["cold_seconds"];
        fmt::print("{:<12}{:>12}{:>10.3g}{:>9}{}\n", name, human_seconds(seconds), total / seconds / 1e9,
                   p["lanes"].get<unsigned>(),
                   cold > 0 ? fmt::format("  and {} to create a context", human_seconds(cold)) : "");
    }
    const json& plan = record["plan"];
    const std::string beside = plan["beside"];
    fmt::print("\nplan: {}{}, {} worker{}, chunks of {}\nwhy:  {}\n", label(plan["backend"], plan["device"]),
               beside.empty() ? "" : " and " + beside, plan["lanes"].get<unsigned>(), plan["lanes"] == 1 ? "" : "s",
               human_bytes(plan["chunk_bytes"].get<double>()), one_line(plan["reason"].get<std::string>()));
}

}  // namespace

int run_plan(int argc, char** argv) {
    const auto is_grid = [](const char* argument) { return std::strcmp(argument, "--grid") == 0; };
    if (char** const grid = std::find_if(argv + 1, argv + argc, is_grid); grid != argv + argc) {
        std::rotate(argv + 1, grid, grid + 1);
        become("warpaes-plan-grid", argc - 1, argv + 1,
               "build it in build/default/cli with `tools/build default warpaes_plan_grid`");
    }
    CLI::App app{"", "warpaes plan"};
    PlanOptions o;
    app.add_option("--mode", o.mode);
    app.add_option("--size,--bytes", o.bytes);
    app.add_option("--direction", o.direction);
    app.add_option("--key-bits", o.key_bits);
    app.add_option("--messages", o.messages)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
    app.add_option("--keys", o.keys)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
    app.add_flag("--batch", o.batch);
    app.add_option("--from", o.from);
    app.add_option("--backend", o.backend);
    app.add_option("--device", o.device);
    app.add_option("--threads", o.threads);
    app.add_flag("--json", o.as_json);
    if (!parse_options(app, argc, argv, plan_help)) return 0;

    const warpaes_work work = to_work(o);
    const Engine engine = create_engine(o.backend, o.device, o.threads);
    const json record{{"mode", o.mode},
                      {"direction", o.direction},
                      {"key_bits", work.key_bits},
                      {"bytes", work.message_len},
                      {"messages", work.messages},
                      {"keys", work.keys},
                      {"from", o.from},
                      {"batch", work.batch == 1},
                      {"predictions", predictions_of(engine.get(), work)},
                      {"plan", plan_of(engine.get(), work)}};
    if (o.as_json) {
        print_json(record, 2);
    } else {
        print_plan(work, o, record);
    }
    return 0;
}

}  // namespace cli
