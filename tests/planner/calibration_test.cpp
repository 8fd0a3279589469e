// Tests measurements of a machine and their use, with an invented machine.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "base/error.hpp"
#include "engine/calibration/calibrate.hpp"
#include "engine/planner.hpp"

namespace warpaes {
namespace {

constexpr unsigned threads = 8;

std::vector<BackendInfo> machine() {
    return {
        {.name = "libcrypto", .description = "OpenSSL", .reason = ""},
        {.name = "vaes", .description = "AVX-512", .reason = ""},
        {.name = "aesni", .description = "", .reason = "no such CPU"},
        {.name = "cuda", .description = "NVIDIA One", .reason = "", .device = 0, .multiprocessors = 80, .gpu = true},
        {.name = "cuda", .description = "NVIDIA One", .reason = "", .device = 1, .multiprocessors = 80, .gpu = true},
        {.name = "cuda", .description = "NVIDIA Other", .reason = "", .device = 2, .multiprocessors = 20, .gpu = true}};
}

/// The machine's true costs differ from the default costs by a factor for each backend.
double true_seconds(const Trial& trial) {
    static const auto infos = machine();
    for (std::size_t i = 0; i < infos.size(); ++i) {
        const BackendInfo& info = infos[i];
        if (info.name != trial.backend || (trial.device >= 0 && info.device != trial.device)) continue;
        const double factor = 1.5 + 0.4 * static_cast<double>(i);
        const CostTable table = default_costs(info, threads);
        const WorkClass work_class = class_of(trial.work.mode, trial.work.direction);
        const auto with = [&](Way way) {
            return table.find(work_class, way, trial.work.key_bits)
                ->seconds(trial.work.bytes, trial.work.messages, trial.work.longest_message(), trial.work.keys);
        };
        if (info.name == "cuda") return factor * with(gpu_way(trial.work.memory, trial.work.batch));
        if (trial.work.batch) return factor * with(Way::batch);
        if (trial.lanes == 1) return factor * with(Way::one_lane);
        const std::uint64_t chunk = trial.chunk_bytes != 0 ? trial.chunk_bytes : cpu_chunk_bytes;
        const auto lanes =
            static_cast<double>(std::min<std::uint64_t>(threads, std::max<std::uint64_t>(1, trial.work.bytes / chunk)));
        return 20e-6 * (lanes - 1) + factor * std::max(with(Way::all_lanes), with(Way::one_lane) / lanes);
    }
    ADD_FAILURE() << "there is no " << trial.backend;
    return 1;
}

std::optional<double> noisy(const Trial& trial) {
    static std::mt19937 random(3);
    return true_seconds(trial) * std::uniform_real_distribution<double>(0.97, 1.03)(random);
}

TEST(Calibration, FindsTheMachinesCosts) {
    const auto infos = machine();
    const CalibrationReport report = calibrate(infos, {.threads = threads, .progress = {}}, noisy);
    EXPECT_GT(report.trials, 300U);
    EXPECT_LT(report.median_error, 0.05);
    EXPECT_EQ(report.model.threads, threads);
    EXPECT_NEAR(report.model.thread, 20e-6, 5e-6);
    EXPECT_EQ(report.model.find("aesni"), nullptr) << "cannot run here";
    EXPECT_NE(report.model.find("cuda NVIDIA Other"), nullptr);

    const Planner planner(std::make_shared<const CostModel>(report.model), threads);
    for (const auto memory : {Memory::pageable, Memory::page_locked, Memory::device}) {
        for (const Mode mode : {Mode::ecb, Mode::ctr, Mode::gcm, Mode::cbc}) {
            for (std::uint64_t bytes = 64; bytes <= 256 << 20; bytes *= 4) {
                if (mode == Mode::cbc && bytes > 256 << 10) continue;
                Trial trial{.backend = "cuda", .device = 0, .work = {.mode = mode, .bytes = bytes, .memory = memory}};
                const Prediction p = planner.on_gpu(infos[3], 1, trial.work);
                EXPECT_TRUE(p.calibrated);
                EXPECT_NEAR(p.seconds / true_seconds(trial), 1, 0.15) << static_cast<int>(mode) << " " << bytes;
                if (memory != Memory::pageable) continue;
                trial.backend = "libcrypto";
                trial.device = -1;
                const Prediction cpu = planner.on_cpu(libcrypto_backend(), trial.work);
                EXPECT_TRUE(cpu.calibrated);
                trial.lanes = cpu.lanes;
                if (cpu.lanes != 1) continue;
                EXPECT_NEAR(cpu.seconds / true_seconds(trial), 1, 0.15) << bytes;
            }
        }
    }
}

TEST(Calibration, WhatAMessageOfABatchCosts) {
    const auto infos = machine();
    const CalibrationReport report = calibrate(infos, {.threads = threads, .progress = {}},
                                               [](const Trial& t) { return std::optional(true_seconds(t)); });
    const Planner planner(std::make_shared<const CostModel>(report.model), threads);
    for (const std::uint64_t messages : {10'000, 1'000'000}) {
        const Work work{.mode = Mode::ctr, .bytes = 16 * messages, .messages = messages, .longest = 16, .batch = true};
        const Trial trial{.backend = "libcrypto", .work = work};
        EXPECT_NEAR(planner.on_cpu(libcrypto_backend(), work).seconds / true_seconds(trial), 1, 0.15) << messages;
    }
}

TEST(Calibration, CountsWhatWasMeasured) {
    const auto infos = machine();
    const auto nothing = [](const Trial&) { return std::optional<double>(); };
    EXPECT_EQ(calibrate(infos, {.quick = true, .threads = threads, .progress = {}}, nothing).trials, 0U);
}

TEST(Calibration, MeasuresEveryKindOfWork) {
    const auto infos = machine();
    for (const bool quick : {false, true}) {
        std::map<std::string, std::set<WorkClass>> kinds;
        (void)calibrate(infos, {.quick = quick, .threads = threads, .progress = {}}, [&](const Trial& trial) {
            kinds[trial.backend].insert(class_of(trial.work.mode, trial.work.direction));
            return std::optional(true_seconds(trial));
        });
        ASSERT_EQ(kinds.size(), 3U);
        for (const auto& [backend, its] : kinds) EXPECT_EQ(its.size(), work_classes) << backend << ", quick " << quick;
    }
}

TEST(Calibration, MeasuresAGpuOfEachNameOnce) {
    const auto infos = machine();
    std::set<int> devices;
    (void)calibrate(infos, {.quick = true, .threads = threads, .progress = {}}, [&](const Trial& trial) {
        devices.insert(trial.device);
        EXPECT_NE(trial.backend, "aesni");
        EXPECT_EQ(trial.work.key_bits, 128U) << "quick";
        return std::optional(true_seconds(trial));
    });
    EXPECT_EQ(devices, (std::set<int>{-1, 0, 2}));
}

TEST(Calibration, AQuickOneReckonsLongerKeys) {
    const auto infos = machine();
    const CalibrationReport report = calibrate(infos, {.quick = true, .threads = threads, .progress = {}},
                                               [](const Trial& t) { return std::optional(true_seconds(t)); });
    const CostTable& table = *report.model.find("vaes");
    const Cost* shorter = table.find(WorkClass::ctr, Way::one_lane, 128);
    const Cost* longer = table.find(WorkClass::ctr, Way::one_lane, 256);
    ASSERT_TRUE(shorter != nullptr && longer != nullptr);
    EXPECT_GT(longer->of_bytes(1 << 20), 1.1 * shorter->of_bytes(1 << 20));
    EXPECT_EQ(longer->fixed, shorter->fixed);
}

TEST(Calibration, WhatCannotBeMeasuredStaysUnknown) {
    const auto infos = machine();
    const CalibrationReport report = calibrate(infos, {.threads = threads, .progress = {}}, [](const Trial& trial) {
        if (trial.work.memory == Memory::device || trial.work.bytes > 4096) return std::optional<double>();
        return std::optional(true_seconds(trial));
    });
    const CostTable& gpu = *report.model.find("cuda NVIDIA One");
    EXPECT_EQ(gpu.find(WorkClass::ctr, Way::device, 128), nullptr);
    EXPECT_NE(gpu.find(WorkClass::ctr, Way::page_locked, 128), nullptr);
    // The planner still uses the default costs.
    const Planner planner(std::make_shared<const CostModel>(report.model), threads);
    const Work work{.bytes = 1 << 20, .memory = Memory::device};
    EXPECT_FALSE(planner.on_gpu(infos[3], 1, work).calibrated);
    EXPECT_GT(planner.on_gpu(infos[3], 1, work).seconds, 0);
}

/// A time of zero is not counted as a measurement, and no fitted cost is zero.
TEST(Calibration, NothingCostsNoTime) {
    const auto infos = machine();
    unsigned calls = 0;
    const CalibrationReport report = calibrate(infos, {.threads = threads, .progress = {}}, [&](const Trial& trial) {
        return std::optional(++calls % 3 == 0 ? 0.0 : true_seconds(trial));
    });
    EXPECT_LT(report.trials, calls);
    EXPECT_LT(report.median_error, 0.05);
    for (const auto& [name, table] : report.model.tables) {
        table.each([&of = name](WorkClass, Way, unsigned, const Cost& cost) { EXPECT_TRUE(cost.valid()) << of; });
    }
}

/// The fitted cost is also not zero if many workers took less time than it takes to start them.
TEST(Calibration, WhatManyWorkersShareCostsSomething) {
    const auto infos = machine();
    constexpr double at_once = 1e-7;
    const CalibrationReport report = calibrate(infos, {.threads = threads, .progress = {}}, [](const Trial& trial) {
        const bool all = trial.backend == "vaes" && !trial.work.batch && trial.lanes != 1;
        return std::optional(all && trial.chunk_bytes == 0 ? at_once : true_seconds(trial));
    });
    const Cost* cost = report.model.find("vaes")->find(WorkClass::ctr, Way::all_lanes, 128);
    ASSERT_NE(cost, nullptr);
    EXPECT_GT(cost->of_bytes(std::uint64_t{64} << 20), 0.1 * at_once);
    EXPECT_LT(cost->of_bytes(std::uint64_t{64} << 20), at_once);
}

TEST(Calibration, LargeMeasurementsCanBeLeftOut) {
    const auto infos = machine();
    (void)calibrate(infos, {.threads = threads, .most_bytes = 1 << 20, .progress = {}}, [](const Trial& trial) {
        EXPECT_LE(trial.work.bytes, std::uint64_t{1} << 20);
        return std::optional(true_seconds(trial));
    });
}

TEST(Calibration, WhatWouldTakeLongIsLeftOutWhereAFewAreThere) {
    const auto measured = [](double seconds_a_byte) {
        return calibrate(machine(), {.threads = threads, .progress = {}},
                         [&](const Trial& trial) {
                             return std::optional(seconds_a_byte * static_cast<double>(trial.work.bytes + 1));
                         })
            .trials;
    };
    EXPECT_LT(measured(1e-6), 0.9 * static_cast<double>(measured(1e-12)));
}

TEST(Calibration, TellsHowFarItIsAndStops) {
    const auto infos = machine();
    std::uint64_t last = 0, all = 0;
    CalibrationOptions options{
        .quick = true, .threads = threads, .progress = [&](std::uint64_t done, std::uint64_t total) {
            EXPECT_EQ(done, last + 1);
            last = done;
            all = total;
            return true;
        }};
    const Measure measure = [](const Trial& t) { return std::optional(true_seconds(t)); };
    (void)calibrate(infos, options, measure);
    EXPECT_EQ(last, all);
    options.progress = [](std::uint64_t done, std::uint64_t) { return done < 5; };
    try {
        (void)calibrate(infos, options, measure);
        FAIL() << "was to stop";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_CANCELLED);
    }
}

}  // namespace
}  // namespace warpaes
