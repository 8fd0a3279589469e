// Tests the tuning of launches on the simulated GPU, where times are meaningless.
#include "engine/calibration/tune.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "engine/calibration/file.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using Bytes = std::vector<std::uint8_t>;

CudaBackend& gpu() {
    return cuda_backend();
}

/// The destructor restores the default launches for the GPU's architecture.
class Launches : public testing::Test {
protected:
    ~Launches() override {
        simt::on_launch({});
        gpu().use_launches(0, std::nullopt);
    }
};

/// Checks that the GPU cannot be tuned and that the error message contains these words.
void expect_refusal(const std::string& words) {
    try {
        (void)tune(gpu(), {.device = 0, .quick = true, .progress = nullptr});
        FAIL() << "was tuned";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE);
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

/// The numbers of thread blocks, threads and bytes of shared memory of every launch.
using Configurations = std::vector<std::tuple<unsigned, unsigned, std::size_t>>;

struct Done {
    Bytes bytes;  ///< output and tags
    Configurations launched;
};

struct Job {
    Mode mode;
    Direction direction;
    std::uint64_t bytes;
    std::uint64_t messages;  ///< 0 means a single message instead of a batch
    bool own_keys = false;
};

/// Runs the job on the GPU or with libcrypto and returns the result.
Done done(const Job& job, bool on_gpu) {
    const std::uint64_t count = std::max<std::uint64_t>(1, job.messages);
    const std::size_t tags = job.mode == Mode::gcm ? count * block_bytes : 0, all = count * job.bytes;
    Bytes input(all), besides(32 * count);
    for (std::size_t i = 0; i < all; ++i) input[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8));
    for (std::size_t i = 0; i < besides.size(); ++i) besides[i] = static_cast<std::uint8_t>(i * 29 + 3);
    Bytes output(all + tags);
    static const ExpandedKey key(Bytes(32, 0x42));
    MessageGroup g{};
    g.mode = job.mode;
    g.direction = job.direction;
    g.count = count;
    g.length = job.bytes;
    g.iv = {besides.data(), 16};
    g.iv_length = job.mode == Mode::ecb ? 0 : job.mode == Mode::gcm ? 12 : 16;
    if (job.own_keys) {
        g.keys = {besides.data() + 16 * count, 16};
        g.key_bytes = 16;
    } else {
        g.key = &key;
    }
    g.tag_length = tags != 0 ? block_bytes : 0;
    const auto lies_at = [&](std::uint8_t* from, std::uint8_t* to) {
        g.input = {from, job.bytes};
        g.output = {to, job.bytes};
        if (tags != 0) g.tag = {to + all, block_bytes};
    };
    Configurations launched;
    if (!on_gpu) {
        lies_at(input.data(), output.data());
        libcrypto_backend().open_lane(-1, 0)->run(g);
        return {output, launched};
    }
    auto* const from = static_cast<std::uint8_t*>(gpu().device_alloc(0, all));
    auto* const to = static_cast<std::uint8_t*>(gpu().device_alloc(0, all + tags));
    gpu().copy(from, input.data(), all, 0, nullptr);
    lies_at(from, to);
    simt::on_launch(
        [&](const cudaLaunchConfig_t& c) { launched.emplace_back(c.gridDim.x, c.blockDim.x, c.dynamicSmemBytes); });
    if (job.messages == 0) {
        gpu().run(g, 0, CallerStream{});
    } else {
        gpu().enqueue({&g, 1}, 0, nullptr);
    }
    gpu().synchronize(0, nullptr);
    simt::on_launch({});
    gpu().copy(output.data(), to, output.size(), 0, nullptr);
    gpu().device_free(from);
    gpu().device_free(to);
    return {output, launched};
}

/// A parameter, with a value that differs from the H200's and a job whose launches depend on it.
struct Case {
    std::uint32_t LaunchTable::*figure;
    std::uint32_t value;
    Job job;
};
const Case cases[] = {
    {&LaunchTable::tables, 2, {Mode::ecb, Direction::encrypt, 20000 - 20000 % 16, 0}},
    {&LaunchTable::threads, 640, {Mode::ctr, Direction::encrypt, 50001, 0}},
    {&LaunchTable::threads, 128, {Mode::cbc, Direction::decrypt, 40000, 0}},
    {&LaunchTable::threads, 384, {Mode::ecb, Direction::decrypt, 70000 - 70000 % 16, 8}},
    {&LaunchTable::own_key_threads, 192, {Mode::ctr, Direction::encrypt, 1500, 20, true}},
    {&LaunchTable::serial_warps, 4, {Mode::cbc, Direction::encrypt, 1600, 60}},
    {&LaunchTable::tensor_blocks, never, {Mode::gcm, Direction::encrypt, 4500003, 0}},
    {&LaunchTable::tensor_blocks, 64, {Mode::gcm, Direction::encrypt, 16384, 64}},
    {&LaunchTable::one_launch_share, 0, {Mode::gcm, Direction::encrypt, 30001, 0}},
    {&LaunchTable::one_launch_share, 1024, {Mode::gcm, Direction::encrypt, 40001, 0}},
    {&LaunchTable::two_tables_share, 0, {Mode::gcm, Direction::encrypt, 20001, 0}},
    {&LaunchTable::own_key_tensor_bytes, never, {Mode::gcm, Direction::encrypt, 20000, 3, true}},
    {&LaunchTable::own_key_tensor_bytes, 4096, {Mode::gcm, Direction::encrypt, 5000, 3, true}},
    {&LaunchTable::long_counter_bytes, 65536, {Mode::ctr, Direction::encrypt, 60000, 3}},
    {&LaunchTable::long_counter_bytes, 1024, {Mode::ctr, Direction::encrypt, 4099, 30}},
};

TEST_F(Launches, AFigureChangesWhatIsLaunchedAndNoByte) {
    for (const Case& c : cases) {
        const auto figure = std::find_if(launch_figures().begin(), launch_figures().end(),
                                         [&](const LaunchFigure& f) { return f.value == c.figure; });
        SCOPED_TRACE(std::string(figure->name) + " = " + figure_text(c.value));
        gpu().use_launches(0, std::nullopt);
        const Done by_cpu = done(c.job, false), built_in = done(c.job, true);
        LaunchTable table = gpu().launches(0).built_in;
        table.*c.figure = c.value;
        gpu().use_launches(0, table);
        const Done tuned = done(c.job, true);
        EXPECT_TRUE(built_in.bytes == by_cpu.bytes);
        EXPECT_TRUE(tuned.bytes == by_cpu.bytes);
        // These values select another kernel, but the launches keep their size.
        const bool another_kernel = c.figure == &LaunchTable::long_counter_bytes ||
                                    (c.figure == &LaunchTable::tensor_blocks && c.value == 64) ||
                                    (c.figure == &LaunchTable::one_launch_share && c.value == 1024);
        EXPECT_TRUE(another_kernel || tuned.launched != built_in.launched);
    }
    // product_blocks changes only the launches of GHASH, and only without the kernels that use tensor cores.
    LaunchTable table = gpu().launches(0).built_in;
    table.tensor_blocks = never;
    table.one_launch_share = 0;
    const Job job{Mode::gcm, Direction::encrypt, 4500003, 0};
    std::set<Configurations> seen;
    for (const std::uint32_t blocks : {1, 2, 8}) {
        table.product_blocks = blocks;
        gpu().use_launches(0, table);
        const Done tuned = done(job, true);
        EXPECT_TRUE(tuned.bytes == done(job, false).bytes) << blocks;
        seen.insert(tuned.launched);
    }
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(Launches, WhatIsImpossibleIsRefusedAndChangesNothing) {
    const LaunchTable before = gpu().launches(0).used;
    const auto refused = [&](std::uint32_t LaunchTable::*figure, std::uint32_t value) {
        LaunchTable table = before;
        table.*figure = value;
        try {
            gpu().use_launches(0, table);
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), WARPAES_ERROR_ARGUMENT);
            EXPECT_EQ(gpu().launches(0).used, before);
            return true;
        }
        return false;
    };
    EXPECT_TRUE(refused(&LaunchTable::threads, 0));
    EXPECT_TRUE(refused(&LaunchTable::threads, 2048));
    EXPECT_TRUE(refused(&LaunchTable::tables, 8));
    EXPECT_TRUE(refused(&LaunchTable::one_launch_share, 8193));
    for (const LaunchFigure& figure : launch_figures()) {
        const bool may_be_none =
            figure.value == &LaunchTable::one_launch_share || figure.value == &LaunchTable::two_tables_share;
        EXPECT_TRUE(may_be_none || refused(figure.value, 0)) << figure.name;
        EXPECT_TRUE(refused(figure.value, figure.most + 1)) << figure.name;
    }
    EXPECT_FALSE(refused(&LaunchTable::threads, 512));
    EXPECT_EQ(gpu().launches(0).used.threads, 512U);
    EXPECT_THROW(gpu().use_launches(7, std::nullopt), Error);
}

TEST_F(Launches, ATuningTriesEveryValueOfEveryFigure) {
    std::vector<TuningStep> steps;
    std::set<Configurations::value_type> launched;
    simt::on_launch(
        [&](const cudaLaunchConfig_t& c) { launched.emplace(c.gridDim.x, c.blockDim.x, c.dynamicSmemBytes); });
    LaunchTable before = gpu().launches(0).built_in;
    before.own_key_threads = 448;  // tuning does not try this value, so the report does not contain it
    gpu().use_launches(0, before);
    const TuningReport report = tune(gpu(), {.device = 0, .quick = true, .progress = [&](const TuningStep& step) {
                                                 steps.push_back(step);
                                                 return true;
                                             }});
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back().done, steps.back().total);
    EXPECT_EQ(steps.size(), steps.back().total);
    EXPECT_GT(report.measurements, steps.size());
    for (const LaunchFigure& figure : launch_figures()) {
        std::set<std::uint32_t> tried;
        for (const TuningStep& step : steps) {
            if (std::string(step.figure) != figure.name) continue;
            tried.insert(step.value);
            EXPECT_TRUE(std::regex_search(step.works, std::regex("ECB|CTR|CBC|GCM")))
                << figure.name << " was measured with: " << step.works;
        }
        for (const std::uint32_t value : figure.worth_trying()) EXPECT_TRUE(tried.contains(value)) << figure.name;
        EXPECT_TRUE(tried.contains(report.launches.used.*figure.value)) << figure.name;
    }
    const auto threads = [&](unsigned n) {
        return std::any_of(launched.begin(), launched.end(), [&](const auto& l) { return std::get<1>(l) == n; });
    };
    EXPECT_TRUE(threads(768) && threads(384) && threads(1024));
    EXPECT_EQ(objection(report.launches.used, report.launches.gpu), "");
    EXPECT_EQ(gpu().launches(0).used, before) << "the caller decides what to do with the result";
}

TEST_F(Launches, ATuningThatIsCancelledOrGetsOtherBytesChangesNothing) {
    LaunchTable table = gpu().launches(0).built_in;
    table.threads = 512;
    gpu().use_launches(0, table);
    try {
        (void)tune(gpu(), {.device = 0, .quick = true, .progress = [](const TuningStep&) { return false; }});
        FAIL() << "was not cancelled";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_CANCELLED);
    }
    EXPECT_EQ(gpu().launches(0).used, table);

    // Simulates a faulty GPU, whose output is changed before the host reads it.
    bool spoils = false;
    simt::on_launch([&](const cudaLaunchConfig_t& c) {
        spoils = spoils || c.blockDim.x == 768;
        if (!spoils) return;
        simt::look_at_memory([](cudaMemoryType type, std::span<const std::uint8_t> memory) {
            if (type == cudaMemoryTypeDevice && memory.size() >= 65536) {
                const_cast<std::uint8_t&>(memory[100]) ^= 1;
            }
        });
    });
    expect_refusal("threads = 768");
    EXPECT_EQ(gpu().launches(0).used, table);
}

// After a GPU refuses a launch, tuning stops trying launches of that kind and keeps its earlier result.
TEST_F(Launches, ALaunchThatTheDriverRefusesIsNoCandidate) {
    const LaunchTable built_in = gpu().launches(0).built_in;
    double relative = -1;
    bool next = false;
    simt::on_launch([&](const cudaLaunchConfig_t& c) {
        if (next || c.blockDim.x != 1024 || c.dynamicSmemBytes != 64 * 1024) return;
        next = true;  // the first launch with two tables; the next launch fails
        simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorLaunchOutOfResources);
    });
    const TuningReport report = tune(gpu(), {.device = 0, .quick = true, .progress = [&](const TuningStep& step) {
                                                 if (std::string(step.figure) == "tables" && step.value == 2)
                                                     relative = step.relative;
                                                 return true;
                                             }});
    EXPECT_TRUE(next);
    EXPECT_EQ(relative, 0);
    EXPECT_EQ(report.launches.used.tables, built_in.tables);
}

// Tuning detects a launch that writes nothing, although the correct output for the previous value is still in memory.
TEST_F(Launches, ALaunchThatWritesNothingIsFound) {
    simt::on_launch([](const cudaLaunchConfig_t& c) {
        if (c.blockDim.x == 768) const_cast<cudaLaunchConfig_t&>(c).gridDim.x = 0;
    });
    expect_refusal("threads = 768");
}

TEST_F(Launches, WhatIsInUseHasToRun) {
    const LaunchTable before = gpu().launches(0).used;
    simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorLaunchOutOfResources);
    expect_refusal("launching a kernel");
    EXPECT_EQ(gpu().launches(0).used, before);
}

/// The run with the current launch is needed for the comparison, and not only to find the measurable size.
TEST_F(Launches, TheLaunchInUseHasToRunWhereOthersAreComparedWithIt) {
    const LaunchTable before = gpu().launches(0).used;
    bool failed = false;
    simt::reset();
    simt::on_launch([&](const cudaLaunchConfig_t&) {
        // The outputs are cleared before the first comparison, when the maximum size is known.
        if (failed || simt::calls("cudaMemsetAsync") == 0) return;
        failed = true;
        simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorLaunchOutOfResources);
    });
    expect_refusal("launching a kernel");
    EXPECT_TRUE(failed);
    EXPECT_EQ(gpu().launches(0).used, before);
}

const GpuShape h200{"cuda NVIDIA H200, compute capability 9.0", 90, 132, 232448, BitProducts::wgmma};

CostModel model_of(const GpuShape& shape, const LaunchTable& table) {
    CostModel model;
    model.launches[shape.name] = {shape, table};
    return model;
}

TEST(StoredLaunchesTest, AreUsedForTheGpuThatTheyAreOf) {
    LaunchTable table;
    table.threads = 768;
    table.tensor_blocks = never;
    const StoredLaunches stored = launches_of(model_of(h200, table), h200);
    ASSERT_TRUE(stored.table);
    EXPECT_EQ(*stored.table, table);
    EXPECT_EQ(stored.note, "");
    EXPECT_EQ(launches_of({}, h200).note, "") << "this GPU has not been tuned";
}

TEST(StoredLaunchesTest, OfAnotherGpuOrImpossibleAreRefusedWithASentence) {
    const auto refused = [](const CostModel& model, const std::string& words) {
        const StoredLaunches stored = launches_of(model, h200);
        EXPECT_FALSE(stored.table);
        EXPECT_NE(stored.note.find(words), std::string::npos) << stored.note;
        EXPECT_NE(stored.note.find("warpaes tune"), std::string::npos) << stored.note;
    };
    GpuShape other = h200;
    other.name = "cuda NVIDIA L4, compute capability 8.9";
    refused(model_of(other, {}), "NVIDIA L4");
    GpuShape slice = h200;
    slice.multiprocessors = 16;
    refused(model_of(slice, {}), "16 multiprocessors");
    GpuShape smaller = h200;
    smaller.shared_bytes = 101376;
    refused(model_of(smaller, {}), "101376 bytes");
    smaller = h200;
    smaller.compute_capability = 89;
    refused(model_of(smaller, {}), "compute capability 8.9");
    LaunchTable table;
    table.threads = 0;
    refused(model_of(h200, table), "threads: 0");
    table = {};
    table.tables = 8;
    refused(model_of(h200, table), "tables: 8");
    CostModel unusable = model_of(h200, {});
    unusable.note = "the calibration in 'x' is not used: it is damaged";
    refused(unusable, "it is damaged");
}

TEST(StoredLaunchesTest, SurviveTheFileAndACalibration) {
    const Machine here{"A CPU", 8, "1.2.3"};
    LaunchTable table;
    for (const LaunchFigure& figure : launch_figures()) table.*figure.value = figure.least;
    table.tensor_blocks = never;
    CostModel model = model_of(h200, table);
    GpuShape second = h200;
    second.name = "cuda Another";
    model.launches[second.name] = {second, {}};
    const std::string text = write_calibration(model, here);
    const CostModel back = read_calibration(text, here);
    ASSERT_EQ(back.launches.size(), 2U);
    EXPECT_EQ(back.launches.at(h200.name).table, table);
    EXPECT_EQ(launches_of(back, second).table, LaunchTable{});
    CostModel calibrated;
    calibrated.keep_gpus(back);
    EXPECT_EQ(calibrated.launches.size(), 2U);
    // Content that is incomplete, too long or different is not a calibration.
    const auto with = [&](const std::string& what, const std::string& instead) {
        std::string changed = text;
        const std::size_t at = changed.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return changed.replace(at, what.size(), instead);
    };
    for (const auto& [what, instead] : {std::pair<std::string, std::string>{"\"threads\": 128, ", ""},
                                        {"\"threads\": 128", "\"threads\": -128"},
                                        {"\"threads\": 128", "\"threads\": 4294967296"},
                                        {"\"threads\": 128", "\"threads\": 1.5"},
                                        {"\"threads\": 128", "\"surprise\": 128"},
                                        {"\"threads\": 128", "\"tables\": 2, \"threads\": 128"},
                                        {"\"multiprocessors\": 132, ", ""},
                                        {"\"launches\": [", "\"launches\": [3, "},
                                        {"\"of\": \"cuda Another\"", "\"of\": \"\""}}) {
        EXPECT_THROW((void)read_calibration(with(what, instead), here), Error) << instead;
    }
    // The text is truncated at every seventh position.
    for (std::size_t bytes = 0; bytes + 1 < text.size(); bytes += 7) {
        EXPECT_THROW((void)read_calibration(text.substr(0, bytes), here), Error) << bytes;
    }
}

TEST(StoredLaunchesTest, LieBesideCosts) {
    std::string folder = (std::filesystem::temp_directory_path() / "warpaes-launches-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const std::string path = folder + "/calibration.json";
    CostModel costs;
    costs.thread = 1e-5;
    costs.tables["libcrypto"].set(WorkClass::ctr, Way::one_lane, 128, Cost{.fixed = 1e-6});
    store_calibration(costs, path);
    LaunchTable table;
    table.serial_warps = 8;
    store_launches({h200, {}, table, ""}, path);
    const auto stored = load_calibration(path);
    EXPECT_NE(stored->find("libcrypto"), nullptr);
    EXPECT_EQ(launches_of(*stored, h200).table, table);
    store_calibration(costs, path);
    EXPECT_EQ(launches_of(*load_calibration(path), h200).table, table) << "a calibration keeps them";
    table.serial_warps = 4;
    store_launches({h200, {}, table, ""}, path);
    EXPECT_EQ(launches_of(*load_calibration(path), h200).table, table) << "the last tuning counts";
    costs.launches[h200.name] = {h200, {}};
    store_calibration(costs, path);
    EXPECT_EQ(launches_of(*load_calibration(path), h200).table, LaunchTable{}) << "the calibration's own value counts";
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace warpaes
