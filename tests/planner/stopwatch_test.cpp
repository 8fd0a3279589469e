// Tests that every measurement of a calibration can be made. Times are only checked against a lower bound.
#include <gtest/gtest.h>

#include "../why_skipped.hpp"
#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "engine/engine.hpp"
#include "message/measure.hpp"

namespace warpaes {
namespace {

class StopwatchTest : public testing::TestWithParam<Mode> {
protected:
    static bool has(const std::string& backend) {
        for (const Backend* b : all_backends()) {
            if (b->name() == backend) return b->usable();
        }
        return false;
    }
    /// Measures a single message and a batch, with one key and with many keys.
    void measure(const std::string& backend, int device, Memory memory) {
        const Measure watch = stopwatch({.samples = 1, .sample_seconds = 0, .threads = 2});
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const unsigned key_bits : {128U, 256U}) {
                Trial trial{.backend = backend, .device = device, .work = {}};
                trial.work = {
                    .mode = GetParam(), .direction = direction, .key_bits = key_bits, .bytes = 96, .memory = memory};
                if (GetParam() != Mode::ccm && GetParam() != Mode::cmac) expect_time(watch, trial);
                trial.work.batch = true;
                trial.work.messages = 3;
                expect_time(watch, trial);
                trial.work.keys = 3;
                if (GetParam() != Mode::xts) expect_time(watch, trial);
            }
        }
    }

private:
    static void expect_time(const Measure& watch, const Trial& trial) {
        const auto seconds = watch(trial);
        ASSERT_TRUE(seconds);
        EXPECT_GT(*seconds, 0);
    }
};

TEST_P(StopwatchTest, MeasuresEveryCpuBackend) {
    for (const char* backend : {"libcrypto", "aesni", "vaes", "armv8"}) {
        if (has(backend)) measure(backend, -1, Memory::pageable);
    }
}

TEST_P(StopwatchTest, MeasuresAGpuWhereverTheDataLies) {
    if (!has("cuda")) GTEST_SKIP() << test::needs_gpu(cuda_backend().info().front().reason);
    for (const Memory memory : {Memory::pageable, Memory::page_locked, Memory::device}) {
        measure("cuda", cuda_backend().info().front().device, memory);
    }
}

// No thread reaches 10 GB/s with libcrypto's CBC, so a shorter time would mean that messages were not processed.
TEST(Stopwatch, MeasuresAllMessagesOfABatch) {
    const Measure watch = stopwatch({.samples = 1, .sample_seconds = 0, .threads = 2});
    const std::uint64_t bytes = std::uint64_t{32} << 20;
    Trial trial{.backend = "libcrypto", .device = -1, .work = {}};
    trial.work = {.mode = Mode::cbc,
                  .direction = Direction::encrypt,
                  .key_bits = 256,
                  .bytes = bytes,
                  .memory = Memory::pageable};
    trial.work.batch = true;
    trial.work.messages = 32;
    const auto seconds = watch(trial);
    ASSERT_TRUE(seconds);
    EXPECT_GT(*seconds, static_cast<double>(bytes) / 2 / 10e9);
}

// A case has no time only if memory is lacking. Any other failure is reported.
TEST(Stopwatch, WhatCannotBeMeasured) {
    const Measure watch = stopwatch({.samples = 1, .sample_seconds = 0, .threads = 2});
    const Trial trial{.backend = "abacus", .device = -1, .work = {.bytes = 96}};
    try {
        (void)watch(trial);
        FAIL() << "has been measured";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_BACKEND);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, StopwatchTest,
                         testing::Values(Mode::ecb, Mode::ctr, Mode::xts, Mode::gcm, Mode::cbc, Mode::cmac, Mode::ccm));

}  // namespace
}  // namespace warpaes
