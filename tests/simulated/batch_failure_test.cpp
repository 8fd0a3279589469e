// Every CUDA call of a batch fails once: an error each time, and the lane and the table of keys are as good as before.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "base/error.hpp"
#include "batch_cases.hpp"
#include "cuda/cuda_backend.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

std::vector<GroupSpec> a_bit_of_everything() {
    std::vector<GroupSpec> specs;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            GroupSpec spec{.mode = mode, .direction = direction, .count = 2, .length = 64, .aad_length = 3};
            spec.iv_length = !uses_iv(mode) ? 0 : mode == Mode::gcm || mode == Mode::ccm ? 12 : 16;
            spec.data_unit = 32;
            specs.push_back(spec);
            spec.raw_keys = mode != Mode::xts;
            specs.push_back(spec);
        }
    }
    return specs;
}

TEST(BatchFailures, EveryCallOnce) {
    const auto specs = a_bit_of_everything();
    const auto lane = cuda_backend().open_lane(0, 0);
    const auto run = [&](std::span<const MessageGroup> groups) { lane->run_batch(groups); };
    check_batch(run, specs, 1);
    simt::reset();
    check_batch(run, specs, 1);
    const std::uint64_t calls = simt::calls("*");
    ASSERT_GT(calls, 20u);
    std::uint64_t failures = 0;
    for (std::uint64_t nth = 1; nth <= calls; ++nth) {
        const BatchCase batch(specs, 2);
        simt::fail_call("*", static_cast<int>(nth), cudaErrorLaunchFailure);
        try {
            lane->run_batch(batch.groups());
            // What is not checked because nothing depends on it: wiping, forgetting.
            EXPECT_EQ(batch.complaints(), "") << "call " << nth;
        } catch (const Error& e) {
            ++failures;
            EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE);
        }
        simt::reset();
        if (nth % 64 == 0) check_batch(run, specs, 3);
    }
    // Where memory lies is asked often, and "nowhere special" is an answer.
    EXPECT_GT(failures, calls / 8);
    check_batch(run, specs, 4);
}

/// A lane leaves nothing of keys, texts and tags behind when it is wiped.
TEST(BatchFailures, NothingIsLeft) {
    std::vector<GroupSpec> specs = a_bit_of_everything();
    auto lane = cuda_backend().open_lane(0, 0);
    check_batch([&](std::span<const MessageGroup> groups) { lane->run_batch(groups); }, specs, 5);
    lane->wipe_staging(0);
    std::size_t freed = 0, dirty = 0;
    simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> bytes) {
        if (type != cudaMemoryTypeDevice) return;
        ++freed;
        // What was never used is the allocation's own poison.
        for (const std::uint8_t b : bytes) dirty += b != 0 && b != 0xa5 ? 1 : 0;
    });
    lane.reset();
    simt::on_free({});
    EXPECT_GT(freed, 2u);
    EXPECT_EQ(dirty, 0u);
}

}  // namespace
}  // namespace warpaes::test
