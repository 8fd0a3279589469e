// Tests that the memory of batches on a caller's stream is reused after a batch has ended, and released with a captured
// graph.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

class StreamBatches : public testing::Test {
protected:
    static constexpr std::size_t count = 3, bytes = 64, most_messages = 512;

    StreamBatches() {
        simt::reset();
        memory_ = static_cast<std::uint8_t*>(backend_.device_alloc(0, most_messages * (bytes + 32)));
        backend_.clear(memory_, most_messages * (bytes + 32), 0, nullptr);
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        backend_.synchronize(0, nullptr);
    }
    ~StreamBatches() override {
        simt::reset();
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
        backend_.device_free(memory_);
    }

    enum class Keys { handle, in_host_memory, on_device };

    void enqueue(Keys keys, cudaStream_t stream = nullptr, std::size_t messages = count) {
        MessageGroup g;
        g.mode = Mode::ctr;
        g.count = messages;
        g.length = bytes;
        g.input = {memory_, bytes};
        g.output = {memory_, bytes};
        g.iv = {ivs_.data()->data(), sizeof(Block)};
        g.iv_length = sizeof(Block);
        if (keys == Keys::handle) {
            g.key = &key_;
        } else {
            g.keys = {keys == Keys::on_device ? memory_ + most_messages * bytes : raw_keys_.data(), 32};
            g.key_bytes = 32;
        }
        backend_.enqueue(std::vector{g}, 0, stream);
    }
    void begin_capture() { ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess); }
    void end_capture() {
        cudaGraph_t graph = nullptr;
        ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
        ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    simt::Usage after(const std::function<void()>& act) {
        act();
        backend_.synchronize(0, nullptr);
        return simt::usage();
    }

    CudaBackend& backend_ = cuda_backend();
    std::uint8_t* memory_ = nullptr;
    cudaStream_t stream_ = nullptr;
    std::vector<Block> ivs_ = std::vector<Block>(most_messages);
    std::vector<std::uint8_t> raw_keys_ = std::vector<std::uint8_t>(most_messages * 32);
    const ExpandedKey key_{std::vector<std::uint8_t>(16, 1)};
};

TEST_F(StreamBatches, WhatHasEndedIsUsedAgain) {
    for (const Keys keys : {Keys::handle, Keys::in_host_memory, Keys::on_device}) {
        const simt::Usage once = after([&] { enqueue(keys); });
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(after([&] { enqueue(keys); }) == once) << static_cast<int>(keys);
    }
}

TEST_F(StreamBatches, AGraphOwnsItsMemoryUntilItIsDestroyed) {
    const simt::Usage before = after([&] { enqueue(Keys::in_host_memory); });
    begin_capture();
    enqueue(Keys::in_host_memory, stream_);
    const simt::Usage captured = simt::usage();
    EXPECT_EQ(captured.user_objects, before.user_objects + 1);
    EXPECT_GT(captured.events, before.events) << "the memory of another batch was captured";
    end_capture();
    EXPECT_EQ(simt::usage().user_objects, before.user_objects);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(after([&] { enqueue(Keys::in_host_memory); }).events, captured.events);
}

TEST_F(StreamBatches, GraphsReuseTheMemoryOfDestroyedGraphs) {
    const auto cycle = [&](Keys keys, std::size_t messages) {
        begin_capture();
        enqueue(keys, stream_, messages);
        end_capture();
        return simt::usage();
    };
    for (const Keys keys : {Keys::handle, Keys::in_host_memory, Keys::on_device}) {
        const simt::Usage once = cycle(keys, count);
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(cycle(keys, count) == once) << static_cast<int>(keys);
    }
    // Batches that become longer free nothing while a stream is in capture, because freeing memory waits.
    std::size_t frees = 0, allocations = 0;
    simt::on_free([&](cudaMemoryType, std::span<const std::uint8_t>) { ++frees; });
    for (std::size_t messages = 1; messages <= most_messages; messages *= 2) {
        allocations = cycle(Keys::in_host_memory, messages).host_allocations;
    }
    EXPECT_EQ(cycle(Keys::in_host_memory, most_messages).host_allocations, allocations);
    simt::on_free({});
    EXPECT_EQ(frees, 0);
}

TEST_F(StreamBatches, AGraphThatTakesNoMemoryLeavesNone) {
    for (const char* function : {"cudaUserObjectCreate", "cudaGraphRetainUserObject"}) {
        const simt::Usage before = after([&] { enqueue(Keys::in_host_memory); });
        simt::Usage last = before;
        for (int i = 0; i < 5; ++i) {
            simt::reset();
            begin_capture();
            simt::fail_call(function, 1, cudaErrorMemoryAllocation);
            EXPECT_THROW(enqueue(Keys::in_host_memory, stream_), Error);
            end_capture();
            const simt::Usage now = after([&] { enqueue(Keys::in_host_memory); });
            EXPECT_EQ(now.user_objects, before.user_objects) << function;
            // The next attempt uses the memory of the first attempt.
            if (i > 0) {
                EXPECT_TRUE(now == last) << function;
            }
            last = now;
        }
    }
}

}  // namespace
}  // namespace warpaes
