// Tests that work on several streams runs in the right order, however far some streams run ahead, on a lane whose
// memory is reused and overwritten.
#include <gtest/gtest.h>

#include <new>
#include <span>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "backend/stretch.hpp"
#include "base/error.hpp"
#include "batch_cases.hpp"
#include "evp_oracle.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

/// With parameter 1, all streams run as late as possible. With other values, they run ahead at random.
class StreamOrder : public testing::TestWithParam<unsigned> {
protected:
    StreamOrder() {
        simt::Machine machine = simt::Machine::from_environment();
        machine.late = GetParam();
        simt::reset(machine);
        lane_ = cuda_backend().open_lane(0, 0);
    }
    ~StreamOrder() override { simt::reset(); }

    std::unique_ptr<Lane> lane_;
};

TEST_P(StreamOrder, OfChunksThatGoByTheCopyQueues) {
    constexpr std::size_t bytes = (std::size_t{1} << 20) + 16;
    const std::vector<std::uint8_t> key_bytes(16, 1), iv(16, 2);
    const ExpandedKey key(key_bytes);
    for (std::uint8_t round = 1; round <= 4; ++round) {
        const std::vector<std::uint8_t> input(bytes, round);
        std::vector<std::uint8_t> output(bytes);
        warpaes::Run run{.mode = Mode::ctr,
                         .direction = Direction::encrypt,
                         .key = &key,
                         .input = input.data(),
                         .output = output.data(),
                         .length = bytes,
                         .chain = {}};
        std::copy(iv.begin(), iv.end(), run.chain.begin());
        dynamic_cast<StretchLane&>(*lane_).run_stretch(run);
        EXPECT_EQ(output, *oracle::evp("CTR", true, key_bytes, iv, input)) << "round " << int{round};
        lane_->wipe_staging(0);
    }
}

TEST_P(StreamOrder, OfBatches) {
    const auto run = [this](std::span<const MessageGroup> groups) { lane_->run(groups); };
    for (std::uint32_t round = 0; round < 4; ++round) {
        // The groups cover serial modes (which run concurrently with other modes), separate keys (which are expanded
        // first), and tags (which are returned).
        const std::vector<GroupSpec> specs{
            {.mode = Mode::cbc, .count = 40, .length = 32, .raw_keys = true},
            {.mode = Mode::ctr, .count = 260, .length = 4096 + 16 * (round % 2)},
            {.mode = Mode::cmac, .count = 20, .length = 100, .iv_length = 0, .raw_keys = true},
            {.mode = Mode::gcm,
             .direction = Direction::decrypt,
             .count = 30,
             .length = 50,
             .iv_length = 12,
             .raw_keys = true},
            {.mode = Mode::ofb, .count = 9, .length = 33},
        };
        check_batch(run, specs, 70 + round, guarded_memory(), guarded_memory());
        const std::vector<GroupSpec> few{{.mode = Mode::cfb128, .count = 5, .length = 48, .raw_keys = true},
                                         {.mode = Mode::ecb, .count = 5, .length = 48, .raw_keys = true}};
        check_batch(run, few, 80 + round, guarded_memory(), guarded_memory());
        lane_->wipe_staging(0);
    }
}

/// Host memory that a GPU writes directly.
class PageLocked final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) throw std::bad_alloc();
        return blocks_.emplace_back(static_cast<std::uint8_t*>(memory), bytes).data();
    }
    void release(std::uint8_t* memory, std::size_t) noexcept override {
        std::erase_if(blocks_, [&](const auto& block) { return block.data() == memory; });
        EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
    }
    /// Returns the contents without waiting for a stream.
    [[nodiscard]] std::vector<std::uint8_t> contents() const {
        std::vector<std::uint8_t> all;
        for (const auto& block : blocks_) all.insert(all.end(), block.begin(), block.end());
        return all;
    }

private:
    std::vector<std::span<std::uint8_t>> blocks_;
};

class StreamOrderOfFailures : public StreamOrder {};

/// Work that has begun must end before the failure is reported, because the caller may then free the memory.
TEST_P(StreamOrderOfFailures, NothingGoesOn) {
    PageLocked memory;
    const std::vector<GroupSpec> specs{{.mode = Mode::ctr, .count = 260, .length = 4096},
                                       {.mode = Mode::cbc, .count = 20, .length = 64, .raw_keys = true},
                                       {.mode = Mode::gcm, .count = 10, .length = 64, .iv_length = 12}};
    for (const char* const function : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync"}) {
        simt::reset(simt::machine());
        {
            const BatchCase batch(specs, 90, memory, memory);
            lane_->run(batch.groups());
            ASSERT_EQ(batch.complaints(), "");
        }
        const auto calls = static_cast<int>(simt::calls(function));
        ASSERT_GT(calls, 0) << function;
        for (int nth = 1; nth <= calls; ++nth) {
            SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
            const BatchCase batch(specs, 91, memory, memory);
            simt::reset(simt::machine());
            simt::fail_call(function, nth, cudaErrorMemoryAllocation);
            EXPECT_THROW(lane_->run(batch.groups()), Error);
            const auto before = memory.contents();
            EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
            EXPECT_TRUE(memory.contents() == before);
            lane_->wipe_staging(0);
        }
    }
}

/// On a caller's stream, no work may continue either, because its resources then belong to the next call.
TEST_P(StreamOrderOfFailures, NothingGoesOnThatWasEnqueued) {
    PageLocked memory;
    std::vector<GroupSpec> specs{{.mode = Mode::ctr, .count = 26, .length = 400},
                                 {.mode = Mode::gcm, .count = 10, .length = 64, .iv_length = 12}};
    // Many groups under two alternating keys: the memory for their keys must not be reused before the stream has used
    // it.
    for (unsigned i = 0; i < 66; ++i) specs.push_back({.mode = Mode::ctr, .length = 16, .key = i % 2});
    for (const char* const function :
         {"cudaEventRecord", "cudaLaunchHostFunc", "cudaLaunchKernelEx", "cudaMemcpyAsync"}) {
        unsigned refused = 0;
        for (int nth = 1;; ++nth) {
            SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
            const BatchCase batch(specs, 92, memory, memory);
            std::vector<MessageGroup> groups(batch.groups().begin(), batch.groups().end());
            for (MessageGroup& group : groups) group.device = 0;
            simt::reset(simt::machine());
            simt::fail_call(function, nth, cudaErrorUnknown);
            bool told = false;
            try {
                cuda_backend().enqueue(groups, 0, nullptr);
            } catch (const Error&) {
                told = true;
                ++refused;
            }
            const auto before = memory.contents();
            EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
            EXPECT_EQ(memory.contents() == before, told);
            if (!told) break;
        }
        EXPECT_GT(refused, 0U) << function;
    }
}

INSTANTIATE_TEST_SUITE_P(Latest, StreamOrderOfFailures, testing::Values(1U));
INSTANTIATE_TEST_SUITE_P(Seeds, StreamOrder, testing::Range(1U, 13U));

}  // namespace
}  // namespace warpaes::test
