// Tests calibrations that one process writes and another reads.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/pool.hpp"
#include "engine/calibration/file.hpp"

namespace warpaes {
namespace {

namespace fs = std::filesystem;

const Machine here{"A CPU (R) \"quoted\"", 8, "1.2.3"};

CostModel example(double scale) {
    CostModel model;
    model.thread = 1.25e-5 * scale;
    model.cold = 0.1;
    model.threads = 8;
    Cost cost{.fixed = 1e-6 * scale, .message = 1.0 / 3e9, .key = 7e-9, .serial_byte = 2.2e-8, .in_flight = 1 << 26};
    for (std::size_t i = 0; i < Cost::spans; ++i) cost.byte[i] = scale / 3e10 / static_cast<double>(i + 1);
    model.tables["vaes"].set(WorkClass::ctr, Way::one_lane, 128, cost);
    model.tables["vaes"].set(WorkClass::ccm, Way::batch, 256, cost);
    model.tables["cuda NVIDIA H200"].set(WorkClass::chained, Way::device_batch, 256, cost);
    return model;
}

bool same(const CostModel& a, const CostModel& b) {
    if (a.thread != b.thread || a.cold != b.cold || a.threads != b.threads || a.tables.size() != b.tables.size()) {
        return false;
    }
    return write_calibration(a, here) == write_calibration(b, here);
}

/// Sets an environment variable. The destructor restores its old value.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> old_;
};

class CalibrationFile : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "warpaes-calibration-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name = "a/b/c.json") const { return (folder_ / name).string(); }
    static std::string read(const std::string& from) {
        std::ostringstream text;
        text << std::ifstream(from).rdbuf();
        return text.str();
    }
    static void write(const std::string& to, const std::string& text) { std::ofstream(to) << text; }

    fs::path folder_;
};

TEST_F(CalibrationFile, ComesBackAsItWas) {
    const CostModel model = example(1);
    store_calibration(model, path(), here);
    const auto loaded = load_calibration(path(), here);
    EXPECT_TRUE(same(*loaded, model)) << read(path());
    EXPECT_EQ(loaded->note, "");
    const Cost* cost = loaded->find("vaes")->find(WorkClass::ctr, Way::one_lane, 128);
    ASSERT_NE(cost, nullptr);
    EXPECT_EQ(*cost, *model.find("vaes")->find(WorkClass::ctr, Way::one_lane, 128)) << "to the last bit";
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a/b"), {}), 1) << "no other file remains";
}

TEST_F(CalibrationFile, NoFileIsNoNote) {
    for (const std::string& where : {path(), std::string()}) {
        const auto loaded = load_calibration(where, here);
        EXPECT_FALSE(loaded->calibrated());
        EXPECT_EQ(loaded->note, "");
    }
}

TEST_F(CalibrationFile, DamageIsANoteAndNothingMore) {
    store_calibration(example(1), path(), here);
    const std::string whole = read(path());
    const auto refused = [&](const std::string& text) {
        write(path(), text);
        const auto loaded = load_calibration(path(), here);
        EXPECT_FALSE(loaded->calibrated()) << text;
        EXPECT_NE(loaded->note.find(path()), std::string::npos) << loaded->note;
        return loaded->note;
    };
    for (std::size_t n = 0; n + 2 < whole.size(); ++n) (void)refused(whole.substr(0, n));
    (void)refused(whole + "x");
    (void)refused(std::string(64, '\0'));
    const auto with = [&](const std::string& old, const std::string& now) {
        std::string text = whole;
        const std::size_t at = text.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        text.replace(at, old.size(), now);
        return refused(text);
    };
    (void)with("\"fixed_s\": ", "\"fixed_s\": -");
    (void)with("\"fixed_s\": 1", "\"fixed_s\": nan, \"x\": 1");
    (void)with("\"fixed_s\": ", "\"fixed_s\": inf");
    EXPECT_NE(with("\"byte_s\": [", "\"byte_s\": [0, ").find("expected ']'"), std::string::npos);
    (void)with("\"class\": \"ctr\"", "\"class\": \"rot13\"");
    (void)with("\"way\": \"one-lane\"", "\"way\": \"two-lane\"");
    (void)with("\"key_bits\": 128", "\"key_bits\": 129");
    (void)with("\"thread_s\": ", "\"thread_s\": -");
    (void)with("\"costs\"", "\"prices\"");
    EXPECT_NE(with("\"schema\": 1", "\"schema\": 2").find("version"), std::string::npos);
    // Changes every seventh byte of the file in turn. Reading the changed file must not crash or hang.
    for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::string text = whole;
        text[at] = static_cast<char>(text[at] ^ 0x11);
        write(path(), text);
        (void)load_calibration(path(), here);
    }
}

TEST_F(CalibrationFile, IsOfOneMachineAndVersion) {
    const Variable nothing("WARPAES_CALIBRATION", nullptr), home("HOME", "/home/somebody");
    store_calibration(example(1), path(), here);
    for (const Machine& other : {Machine{"Another CPU", 8, "1.2.3"}, Machine{here.cpu, 4, "1.2.3"}}) {
        const auto loaded = load_calibration(path(), other);
        EXPECT_FALSE(loaded->calibrated());
        EXPECT_NE(loaded->note.find("different machine"), std::string::npos) << loaded->note;
        EXPECT_NE(calibration_path(other), calibration_path(here));
    }
    const auto loaded = load_calibration(path(), {here.cpu, 8, "1.2.4"});
    EXPECT_FALSE(loaded->calibrated());
    EXPECT_NE(loaded->note.find("1.2.3"), std::string::npos) << loaded->note;
}

TEST_F(CalibrationFile, KeepsWhatItSaysOfOtherGpus) {
    store_calibration(example(1), path(), here);
    CostModel without_gpu = example(2);
    without_gpu.tables.erase("cuda NVIDIA H200");
    without_gpu.tables.erase("vaes");
    without_gpu.cold = 0;
    without_gpu.tables["aesni"].set(WorkClass::ecb, Way::one_lane, 128, {.fixed = 1});
    store_calibration(without_gpu, path(), here);
    const auto loaded = load_calibration(path(), here);
    EXPECT_NE(loaded->find("cuda NVIDIA H200"), nullptr);
    EXPECT_EQ(loaded->find("vaes"), nullptr) << "a CPU backend that no longer exists";
    EXPECT_NE(loaded->find("aesni"), nullptr);
    EXPECT_EQ(loaded->cold, 0.1);
    EXPECT_EQ(loaded->thread, without_gpu.thread);
    // A damaged file is replaced.
    write(path(), "{");
    store_calibration(example(3), path(), here);
    EXPECT_TRUE(same(*load_calibration(path(), here), example(3)));
}

TEST_F(CalibrationFile, ManyWritersLeaveOneOfTheirs) {
    store_calibration(example(1), path(), here);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread reader([&] {
        while (!stop) {
            if (!load_calibration(path(), here)->calibrated()) ++wrong;
        }
    });
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&, i] {
            for (int n = 0; n < 25; ++n) store_calibration(example(i + 1), path(), here);
        });
    }
    for (std::thread& writer : writers) writer.join();
    stop = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    const auto last = load_calibration(path(), here);
    EXPECT_TRUE(same(*last, example(1)) || same(*last, example(2)) || same(*last, example(3)) ||
                same(*last, example(4)));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a/b"), {}), 1);
}

TEST_F(CalibrationFile, SaysWhyItCannotBeStored) {
    write(path("file"), "");
    fs::create_directories(folder_ / "taken");
    std::vector<std::string> places{"", path("file/below.json"), path("taken"), "/proc/warpaes/x.json"};
    if (geteuid() != 0) {
        fs::create_directories(folder_ / "locked");
        fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
        places.push_back(path("locked/x.json"));
    }
    for (const std::string& place : places) {
        try {
            store_calibration(example(1), place, here);
            ADD_FAILURE() << place;
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), WARPAES_ERROR_WRITE);
            EXPECT_NE(std::string(e.what()).find("calibration"), std::string::npos);
        }
    }
    EXPECT_TRUE(fs::is_empty(folder_ / "taken"));
    EXPECT_FALSE(load_calibration(path("taken"), here)->note.empty()) << "a folder is not a calibration";
}

TEST_F(CalibrationFile, WhatIsNoRegularFileIsNeitherReadNorReplaced) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    fs::create_symlink("/dev/zero", path("zeros"));
    for (const char* name : {"pipe", "zeros"}) {
        EXPECT_NE(load_calibration(path(name), here)->note.find("not a regular file"), std::string::npos) << name;
        EXPECT_THROW(store_calibration(CostModel{}, path(name), here), Error) << name;
        EXPECT_FALSE(fs::is_regular_file(path(name))) << name;
    }
}

TEST_F(CalibrationFile, WhatIsTooLongIsNotRead) {
    store_calibration(example(1), path(), here);
    const std::string whole = read(path());
    const std::size_t most = 4 << 20;
    write(path(), whole + std::string(most - whole.size(), ' '));
    EXPECT_TRUE(load_calibration(path(), here)->calibrated());
    write(path(), whole + std::string(most - whole.size() + 1, ' '));
    const auto loaded = load_calibration(path(), here);
    EXPECT_FALSE(loaded->calibrated());
    EXPECT_EQ(loaded->note, "the calibration in '" + path() + "' is not used: calibration: the file is too long");
}

/// Tests names of processors and GPUs with unusual characters, because drivers and kernels may report any names.
TEST_F(CalibrationFile, OfProcessorsAndGpusOfAnyName) {
    for (const std::string name : {"a \\ b", "\\", "\"", "\t", "\x7f", "\xc3\xa4"}) {
        const Machine machine{"CPU " + name, 8, "1.2.3"};
        CostModel model = example(1);
        model.tables["cuda " + name].set(WorkClass::ctr, Way::device, 128, {.fixed = 1});
        store_calibration(model, path(), machine);
        const auto loaded = load_calibration(path(), machine);
        EXPECT_EQ(loaded->note, "") << name;
        EXPECT_EQ(loaded->tables.size(), model.tables.size()) << name;
    }
}

TEST_F(CalibrationFile, OneThatCannotBeOpenedIsANote) {
    store_calibration(example(1), path(), here);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto loaded = load_calibration(path(), here);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(loaded->calibrated());
    EXPECT_EQ(loaded->note, "the calibration in '" + path() + "' is not used: calibration: the file cannot be read");
}

TEST_F(CalibrationFile, WhatIsNoCalibrationIsNotReplaced) {
    for (const char* const text : {"{\"primaryKeyId\": 1, \"key\": []}", "schema", "{ }", "# notes\n"}) {
        write(path("mine"), text);
        EXPECT_THROW(store_calibration(example(1), path("mine"), here), Error) << text;
        EXPECT_EQ(read(path("mine")), text);
    }
    for (const char* const text : {"", "\n", "{", "{\n \"sch", "{\"schema\":1, damaged"}) {
        write(path("ours"), text);
        store_calibration(example(1), path("ours"), here);
        EXPECT_TRUE(same(*load_calibration(path("ours"), here), example(1))) << text;
    }
}

/// Parsing a number at the end of a text does not read past the end.
TEST_F(CalibrationFile, TextThatEndsInANumber) {
    const std::string whole = write_calibration(example(1), here);
    const std::size_t end = whole.find("\"threads\": ") + 12;  // before the number
    ASSERT_LT(end + 1, whole.size());
    std::string memory = whole.substr(0, end) + "12345";
    const std::string_view text(memory.data(), end + 2);
    try {
        (void)read_calibration(text, here);
        ADD_FAILURE() << "an incomplete calibration was accepted";
    } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()), "calibration: byte " + std::to_string(text.size()) + ": expected ','");
    }
}

/// A machine is identified by the CPU's name in /proc/cpuinfo, the number of usable processors and the version, so that
/// another machine's calibration is not used.
TEST(CalibrationMachine, IsTheOneItRunsOn) {
    std::string model = "unknown";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; model == "unknown" && std::getline(info, line);) {
        std::istringstream words(line);
        std::string first, second;
        words >> first >> second;
        if (first != "model" || second.rfind("name", 0) != 0 || line.find(": ") == std::string::npos) continue;
        model = line.substr(line.find(": ") + 2);
    }
    EXPECT_EQ(Machine::here().cpu, model);
    EXPECT_EQ(Machine::here().processors, usable_processors());
    EXPECT_EQ(Machine::here().version, WARPAES_VERSION);
    // The key contains the number of CPUs that the process may run on, not the number of all CPUs.
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(usable_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_processors(), 1U);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(CalibrationPath, IsWhereTheEnvironmentSays) {
    const Variable home("HOME", "/home/somebody");
    {
        const Variable none("WARPAES_CALIBRATION", nullptr), no_cache("XDG_CACHE_HOME", nullptr);
        EXPECT_EQ(calibration_path(here).rfind("/home/somebody/.cache/warpaes/calibration-", 0), 0U);
        const Variable cache("XDG_CACHE_HOME", "/cache");
        EXPECT_EQ(calibration_path(here).rfind("/cache/warpaes/calibration-", 0), 0U);
        const Variable relative("XDG_CACHE_HOME", "cache");
        EXPECT_EQ(calibration_path(here).rfind("/home/somebody/.cache/", 0), 0U);
        const Variable homeless("HOME", nullptr);
        EXPECT_EQ(calibration_path(here), "");
    }
    const Variable given("WARPAES_CALIBRATION", "some/where.json");
    EXPECT_EQ(calibration_path(here), "some/where.json");
    const Variable none("WARPAES_CALIBRATION", "none");
    EXPECT_EQ(calibration_path(here), "");
    const Variable empty("WARPAES_CALIBRATION", "");
    EXPECT_NE(calibration_path(here), "");
}

}  // namespace
}  // namespace warpaes
