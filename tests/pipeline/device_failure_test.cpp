// Tests a simulated GPU that fails midway. Each CUDA call fails in turn, once and permanently. The CPU does the
// remaining work, and the output is the same.
#include <gtest/gtest.h>

#include "../gpu_first.hpp"
#include "../page_locked.hpp"
#include "backend/cuda_backend.hpp"
#include "engine/chain.hpp"
#include "engine/run/executor.hpp"
#include "simt.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

class DeviceFailure : public testing::Test {
protected:
    DeviceFailure() { simt::reset(); }
    ~DeviceFailure() override { simt::reset(); }

    /// Returns options with which the engine chooses the GPU for all work, because the work is long enough rather than
    /// because the caller requests it.
    static EngineOptions automatic() {
        return {.backend = "auto", .threads = 2, .depth = 2, .chunk_bytes = 65536, .costs = gpu_first()};
    }

    /// Runs `work` and makes each CUDA call fail in turn.
    template <typename Work>
    void fail_every_call(const Work& work) {
        simt::reset();
        work();
        const std::uint64_t calls = simt::calls("*");
        for (std::uint64_t nth = 1; nth <= calls; ++nth) {
            for (const auto& [error, times] : simt::failures) {
                simt::reset();
                simt::fail_call("*", static_cast<int>(nth), error, times);
                SCOPED_TRACE(std::to_string(nth) + " x " + std::to_string(times));
                work();
            }
        }
        simt::reset();
    }

    const Bytes key_bytes_ = random_bytes(32, 40);
    const ExpandedKey key_{key_bytes_};
    const Bytes plaintext_ = random_bytes(140000, 41);
    static constexpr Block zeros{};
};

TEST_F(DeviceFailure, MessagesAreFinishedByTheCpu) {
    for (const Mode mode : {Mode::ctr, Mode::cbc}) {
        const Direction direction = mode == Mode::ctr ? Direction::encrypt : Direction::decrypt;
        const Bytes expected =
            *oracle::evp(mode == Mode::ctr ? "CTR" : "CBC", mode == Mode::ctr, key_bytes_, Bytes(16, 0), plaintext_);
        for (const bool page_locked : {false, true}) {
            for (const bool in_place : {false, true}) {
                SCOPED_TRACE(std::string(page_locked ? "page-locked" : "pageable") + (in_place ? " in place" : ""));
                Bytes a = plaintext_, b(plaintext_.size());
                std::uint8_t* input = a.data();
                std::uint8_t* output = in_place ? input : b.data();
                if (page_locked) {
                    input = allocate_page_locked(a.size());
                    output = in_place ? input : allocate_page_locked(a.size());
                }
                unsigned failures = 0;
                fail_every_call([&] {
                    std::fill_n(output, a.size(), std::uint8_t{0xa5});
                    std::copy(plaintext_.begin(), plaintext_.end(), input);
                    Engine engine(automatic());
                    const Outcome outcome =
                        run_group(engine, stretch_of(mode, direction, key_, zeros, input, output, a.size()),
                                  page_locked ? Memory::page_locked : Memory::pageable);
                    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), output));
                    ASSERT_EQ(outcome.backend, "cuda");
                    failures += (outcome.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
                });
                EXPECT_GT(failures, 20U);
                if (page_locked) {
                    free_page_locked(input);
                    if (!in_place) free_page_locked(output);
                }
            }
        }
    }
}

TEST_F(DeviceFailure, AMessageOfOneChunk) {
    const Bytes expected =
        *oracle::evp("CTR", true, key_bytes_, Bytes(16, 0), Bytes(plaintext_.begin(), plaintext_.begin() + 1000));
    unsigned failures = 0;
    fail_every_call([&] {
        Bytes output(1000, 0xa5);
        Engine engine(automatic());
        const Outcome outcome = run_group(
            engine, stretch_of(Mode::ctr, Direction::encrypt, key_, zeros, plaintext_.data(), output.data(), 1000));
        ASSERT_EQ(output, expected);
        failures += outcome.notes != 0;
    });
    EXPECT_GT(failures, 10U);
}

TEST_F(DeviceFailure, WhereCudaWasAskedForTheFailureIsReported) {
    simt::fail_call("cudaLaunchKernelEx", 2, cudaErrorUnknown);
    EngineOptions options = automatic();
    options.backend = "cuda";
    Engine engine(options);
    Bytes output(plaintext_.size());
    EXPECT_EQ(status_of([&] {
                  run_group(engine, stretch_of(Mode::ctr, Direction::encrypt, key_, zeros, plaintext_.data(),
                                               output.data(), plaintext_.size()));
              }),
              WARPAES_ERROR_DEVICE);
}

TEST_F(DeviceFailure, NothingIsKeptOfALaneThatFailed) {
    const auto encrypt = [&](Engine& engine) {
        Bytes output(plaintext_.size());
        return run_group(engine, stretch_of(Mode::ctr, Direction::encrypt, key_, zeros, plaintext_.data(),
                                            output.data(), plaintext_.size()));
    };
    EngineOptions options = automatic();
    options.depth = 1;
    {
        Engine engine(options);
        encrypt(engine);
    }
    const simt::Usage before = simt::usage();
    Engine engine(options);
    simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorUnknown, 1000);
    EXPECT_EQ(encrypt(engine).notes, std::uint32_t{WARPAES_NOTE_DEVICE_FAILED});
    EXPECT_EQ(simt::usage(), before);
    simt::reset();
    EXPECT_EQ(encrypt(engine).notes, 0U) << "the next call tries the GPU again";
}

}  // namespace
}  // namespace warpaes::test
