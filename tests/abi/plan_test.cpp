// Tests plans and predictions for every kind of work on this machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support.hpp"

namespace abi_tests {
namespace {

/// Returns every combination of mode, direction and kind of memory, as a single message and as a batch.
std::vector<warpaes_work> every_work() {
    std::vector<warpaes_work> works;
    for (int mode = WARPAES_ECB; mode <= WARPAES_CMAC; ++mode) {
        for (const warpaes_direction direction : directions) {
            for (const warpaes_memory memory :
                 {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_DEVICE}) {
                for (const int batch : {0, 1}) {
                    warpaes_work work = WARPAES_WORK_INIT;
                    work.mode = static_cast<warpaes_mode>(mode);
                    work.direction = direction;
                    work.memory = memory;
                    work.batch = batch;
                    work.messages = batch == 1 ? 1000 : 1;
                    work.message_len = 1 << 20;
                    works.push_back(work);
                }
            }
        }
    }
    return works;
}

// Feasible work has a plan. If no backend can access the data, the call fails.
TEST(Plans, OfEveryWorkOnEveryBackend) {
    setenv("WARPAES_CALIBRATION", "none", 1);
    std::vector<std::string> backends = usable_backends();
    const bool has_gpu = !usable_devices().empty();
    backends.insert(backends.begin(), "auto");
    for (const std::string& backend : backends) {
        const Engine engine = make_engine(backend);
        for (const warpaes_work& work : every_work()) {
            SCOPED_TRACE(backend + ", mode " + std::to_string(work.mode) + ", direction " +
                         std::to_string(work.direction) + ", memory " + std::to_string(work.memory) + ", batch " +
                         std::to_string(work.batch));
            warpaes_plan plan = {};
            plan.struct_size = sizeof plan;
            const warpaes_status status = warpaes_engine_plan(engine.get(), &work, &plan);
            const bool on_device = work.memory == WARPAES_MEMORY_DEVICE;
            if (on_device && (!has_gpu || (backend != "auto" && backend != "cuda"))) {
                EXPECT_EQ(status, WARPAES_ERROR_BACKEND);
                EXPECT_NE(std::string(warpaes_last_error()).find("device memory"), std::string::npos);
                EXPECT_EQ(plan.backend, nullptr) << "written in spite of the error";
            } else {
                ASSERT_EQ(status, WARPAES_OK) << warpaes_last_error();
                EXPECT_STRNE(plan.reason, "");
                EXPECT_EQ(plan.device >= 0, std::string(plan.backend) == "cuda");
                EXPECT_TRUE(backend == "auto" || backend == plan.backend);
                EXPECT_TRUE(!on_device || std::string(plan.backend) == "cuda");
                EXPECT_GE(plan.lanes, 1U);
                EXPECT_GT(plan.seconds, 0);
            }
            for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
                warpaes_backend_info info = {};
                info.struct_size = sizeof info;
                ASSERT_EQ(warpaes_backend_query(i, &info), WARPAES_OK);
                warpaes_prediction prediction = {};
                prediction.struct_size = sizeof prediction;
                ASSERT_EQ(warpaes_engine_predict(engine.get(), &work, i, &prediction), WARPAES_OK);
                EXPECT_EQ(prediction.possible, info.usable != 0 && (!on_device || info.device >= 0) ? 1 : 0);
                EXPECT_EQ(prediction.seconds > 0, prediction.possible == 1);
            }
        }
    }
}

TEST(Plans, Refused) {
    const Engine engine = make_engine("libcrypto");
    const auto refused = [&](warpaes_status status, const std::string& named, auto change) {
        warpaes_work work = WARPAES_WORK_INIT;
        work.message_len = 1000;
        change(work);
        warpaes_plan plan = {};
        plan.struct_size = sizeof plan;
        warpaes_prediction prediction = {};
        prediction.struct_size = sizeof prediction;
        EXPECT_EQ(warpaes_engine_plan(engine.get(), &work, &plan), status);
        EXPECT_EQ(std::string(warpaes_last_error()).find(named + ":"), 0U) << warpaes_last_error();
        EXPECT_EQ(warpaes_engine_predict(engine.get(), &work, 0, &prediction), status);
    };
    for (const int mode : {-1, 0, int{WARPAES_KW}, 1000}) {
        refused(WARPAES_ERROR_ARGUMENT, "mode", [&](auto& w) { w.mode = static_cast<warpaes_mode>(mode); });
    }
    refused(WARPAES_ERROR_ARGUMENT, "direction", [](auto& w) { w.direction = static_cast<warpaes_direction>(3); });
    int unknown = 0;
    while (warpaes_memory_name(static_cast<warpaes_memory>(unknown)) != nullptr) ++unknown;
    for (const int memory : {int{WARPAES_MEMORY_SHARED}, -1, unknown, 1000}) {
        refused(WARPAES_ERROR_ARGUMENT, "memory", [&](auto& w) { w.memory = static_cast<warpaes_memory>(memory); });
    }
    refused(WARPAES_ERROR_KEY_LENGTH, "key_bits", [](auto& w) { w.key_bits = 100; });
    refused(WARPAES_ERROR_ARGUMENT, "batch", [](auto& w) { w.batch = 2; });
    refused(WARPAES_ERROR_ARGUMENT, "messages", [](auto& w) { w.messages = 2; });
    for (const std::uint64_t length : {(std::uint64_t{1} << 60) + 1, UINT64_MAX}) {
        refused(WARPAES_ERROR_DATA_LENGTH, "message_len", [&](auto& w) { w.message_len = length; });
    }
    refused(WARPAES_ERROR_DATA_LENGTH, "message_len", [](auto& w) {
        w.batch = 1;
        w.messages = std::uint64_t{1} << 61;
        w.message_len = 8;
    });
}

TEST(Plans, WhatIsMissingIsNamed) {
    const warpaes_work work = WARPAES_WORK_INIT;
    warpaes_plan plan = WARPAES_PLAN_INIT;
    warpaes_prediction prediction = WARPAES_PREDICTION_INIT;
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    EXPECT_EQ(warpaes_engine_plan(nullptr, &work, &plan), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "engine: is null");
    EXPECT_EQ(warpaes_engine_predict(nullptr, &work, 0, &prediction), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "engine: is null");
    EXPECT_EQ(warpaes_engine_calibrate(nullptr, &calibration, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "engine: is null");
}

/// Returns the number of measurements in a calibration. The first progress call reports this number and cancels the
/// calibration.
std::uint64_t measurements_of(std::uint32_t flags) {
    const Engine engine = make_engine("auto");
    std::uint64_t all = 0;
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    calibration.flags = flags | WARPAES_CALIBRATE_KEEP;
    calibration.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(done, 1U);
        *static_cast<std::uint64_t*>(user) = total;
        return 1;
    };
    calibration.progress_user = &all;
    EXPECT_EQ(warpaes_engine_calibrate(engine.get(), &calibration, nullptr), WARPAES_ERROR_CANCELLED);
    return all;
}

TEST(Plans, ACalibrationForOneEngineIsNotStored) {
    const std::string path = testing::TempDir() + "warpaes-calibration-" + std::to_string(::getpid());
    setenv("WARPAES_CALIBRATION", path.c_str(), 1);
    const Engine engine = make_engine("auto");
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    calibration.flags = WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_CPU_ONLY | WARPAES_CALIBRATE_KEEP;
    EXPECT_EQ(warpaes_engine_calibrate(engine.get(), &calibration, nullptr), WARPAES_OK) << warpaes_last_error();
    EXPECT_FALSE(std::filesystem::exists(path));
    warpaes_work work = WARPAES_WORK_INIT;
    work.message_len = 1 << 20;
    warpaes_plan plan = WARPAES_PLAN_INIT;
    EXPECT_EQ(warpaes_engine_plan(engine.get(), &work, &plan), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(plan.calibrated, 1) << "the engine does not use it";
    const Engine other = make_engine("auto");
    EXPECT_EQ(warpaes_engine_plan(other.get(), &work, &plan), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(plan.calibrated, 0) << "another engine uses it";
    setenv("WARPAES_CALIBRATION", "none", 1);
}

TEST(Plans, ACalibrationMeasuresNoMoreThanItIsAskedFor) {
    setenv("WARPAES_CALIBRATION", "none", 1);
    const std::uint64_t quick_on_cpus = measurements_of(WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_CPU_ONLY);
    EXPECT_GT(quick_on_cpus, 0U);
    EXPECT_GT(measurements_of(WARPAES_CALIBRATE_CPU_ONLY), quick_on_cpus);
    const std::uint64_t quick = measurements_of(WARPAES_CALIBRATE_QUICK);
    if (usable_devices().empty()) {
        EXPECT_EQ(quick, quick_on_cpus);
    } else {
        EXPECT_GT(quick, quick_on_cpus);
    }
}

// Nothing is written past the buffer's capacity, which includes the terminating NUL.
TEST(Plans, ThePathOfTheCalibrationFitsOrIsAnError) {
    const std::string where = "some/where.json";
    setenv("WARPAES_CALIBRATION", where.c_str(), 1);
    for (std::size_t capacity = 0; capacity <= where.size() + 2; ++capacity) {
        PoisonedBuffer path(capacity);
        const warpaes_status status = warpaes_calibration_path(reinterpret_cast<char*>(path.data()), capacity);
        EXPECT_EQ(status, capacity > where.size() ? WARPAES_OK : WARPAES_ERROR_BUFFER_TOO_SMALL) << capacity;
        EXPECT_TRUE(path.intact_after(capacity));
        if (status == WARPAES_OK) {
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(path.data())), where);
        } else {
            EXPECT_NE(std::string(warpaes_last_error()).find(std::to_string(where.size() + 1)), std::string::npos);
        }
    }
    setenv("WARPAES_CALIBRATION", "none", 1);
}

}  // namespace
}  // namespace abi_tests
