// Tests streams that run late, misaligned addresses, guarded memory, and shifts that are too large.
#include <array>
#include <limits>
#include <string>

#include "simt_fixture.hpp"

namespace simt_test {
namespace {

/// Provides page-locked memory, device memory and streams, on a machine where work runs late.
class Late : public Simt {
protected:
    Late() {
        simt::reset({.late = 1});
        for (cudaStream_t& s : streams_) EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaStreamCreate(&blocking_), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
        EXPECT_EQ(cudaHostAlloc(&host_, bytes, cudaHostAllocPortable), cudaSuccess);
        EXPECT_EQ(cudaMalloc(&device_, bytes), cudaSuccess);
        host_[0] = 1;
    }
    ~Late() override {
        EXPECT_EQ(cudaFree(device_), cudaSuccess);
        EXPECT_EQ(cudaFreeHost(host_), cudaSuccess);
        EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
        for (const cudaStream_t s : {streams_[0], streams_[1], blocking_}) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
        EXPECT_EQ(simt::usage(), simt::Usage{});
    }
    void fill(int value, cudaStream_t stream) {
        EXPECT_EQ(cudaMemsetAsync(device_, value, bytes, stream), cudaSuccess);
    }
    void fetch(cudaStream_t stream) {
        EXPECT_EQ(cudaMemcpyAsync(host_, device_, bytes, cudaMemcpyDefault, stream), cudaSuccess);
    }
    int fetched(cudaStream_t stream) {
        fetch(stream);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        return host_[0];
    }

    static constexpr std::size_t bytes = 64;
    static constexpr int poison = 0xa5;
    std::array<cudaStream_t, 2> streams_{};
    cudaStream_t blocking_ = nullptr;
    cudaEvent_t event_ = nullptr;
    std::uint8_t *host_ = nullptr, *device_ = nullptr;
};

TEST_F(Late, WorkIsDoneWhenSomebodyWaitsForIt) {
    fill(7, streams_[0]);
    fetch(streams_[0]);
    EXPECT_EQ(host_[0], 1);
    EXPECT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
    EXPECT_EQ(host_[0], 1) << "another stream";
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(host_[0], 7);
}

TEST_F(Late, WhatDoesNotWaitFindsWhatWasThereBefore) {
    fill(7, streams_[0]);
    EXPECT_EQ(fetched(streams_[1]), poison);
    EXPECT_EQ(cudaEventRecord(event_, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(streams_[1], event_, 0), cudaSuccess);
    fill(8, streams_[0]);
    EXPECT_EQ(fetched(streams_[1]), 7) << "no more work than the event covers";
    EXPECT_EQ(fetched(streams_[0]), 8);
}

TEST_F(Late, AnEventIsWaitedFor) {
    fill(7, streams_[0]);
    fetch(streams_[0]);
    EXPECT_EQ(cudaEventRecord(event_, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(host_, 9, bytes, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
    EXPECT_EQ(host_[0], 7);
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(host_[0], 9);
}

TEST_F(Late, WhoAsksOftenEnoughSeesItDone) {
    fill(7, streams_[0]);
    fetch(streams_[0]);
    EXPECT_EQ(cudaEventRecord(event_, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(streams_[0]), cudaErrorNotReady);
    EXPECT_EQ(host_[0], 1);
    while (cudaEventQuery(event_) == cudaErrorNotReady) {
    }
    EXPECT_EQ(host_[0], 7);
    EXPECT_EQ(cudaStreamQuery(streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Late, MemoryThatIsNotPageLockedIsReadAndWrittenInTheCall) {
    std::vector<std::uint8_t> pageable(bytes, 3), result(bytes);
    EXPECT_EQ(cudaMemcpyAsync(device_, pageable.data(), bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    pageable.assign(bytes, 4);
    EXPECT_EQ(cudaMemcpyAsync(result.data(), device_, bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    EXPECT_EQ(result, std::vector<std::uint8_t>(bytes, 3));
    host_[0] = 5;
    EXPECT_EQ(cudaMemcpyAsync(device_, host_, bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    host_[0] = 6;
    EXPECT_EQ(cudaMemcpyAsync(result.data(), device_, bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    EXPECT_EQ(result[0], 6) << "page-locked memory is read when the copy runs";
}

TEST_F(Late, SomeStreamsGoAhead) {
    std::array<unsigned, 4> seen{};  // seen[n]: how often the fill with n finished last
    for (unsigned seed = 2; seed < 40; ++seed) {
        simt::reset({.late = seed});
        fill(1, streams_[0]);
        fill(2, streams_[1]);
        EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
        const int last = fetched(streams_[0]);
        ASSERT_TRUE(last == 1 || last == 2);
        ++seen[static_cast<std::size_t>(last)];
        fill(3, streams_[0]);
        EXPECT_EQ(cudaEventRecord(event_, streams_[0]), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(streams_[1], event_, 0), cudaSuccess);
        EXPECT_EQ(fetched(streams_[1]), 3) << "seed " << seed;
    }
    EXPECT_GT(seen[1], 3U);
    EXPECT_GT(seen[2], 3U);
}

TEST_F(Late, KernelsToo) {
    auto* const sums = reinterpret_cast<unsigned*>(device_);
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 4;
    config.dynamicSmemBytes = 16;
    config.stream = streams_[0];
    Block arguments{sums, 10};
    EXPECT_EQ(cudaLaunchKernelEx(&config, sum_block, arguments), cudaSuccess);
    arguments.scale = 0;
    EXPECT_EQ(fetched(streams_[1]), poison);
    EXPECT_EQ(fetched(streams_[0]), 60);
}

TEST_F(Late, FunctionsOfTheHostToo) {
    int calls = 0;
    const auto count = [](void* data) { ++*static_cast<int*>(data); };
    EXPECT_EQ(cudaLaunchHostFunc(streams_[0], count, &calls), cudaSuccess);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(calls, 1);
}

TEST_F(Late, TheDefaultStreamWaitsForStreamsThatAreNotApart) {
    fill(7, blocking_);
    EXPECT_EQ(fetched(nullptr), 7);
    fill(8, nullptr);
    EXPECT_EQ(fetched(blocking_), 8);
    fill(9, streams_[0]);
    EXPECT_EQ(fetched(nullptr), 8);
    EXPECT_EQ(cudaMemset(device_, 10, bytes), cudaSuccess);
    EXPECT_EQ(fetched(streams_[1]), 8) << "cudaMemset does not wait";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Late, FreeingInTheOrderOfAStream) {
    std::uint8_t* scratch = nullptr;
    ASSERT_EQ(cudaMallocAsync(&scratch, bytes, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(scratch, 7, bytes, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(host_, scratch, bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(scratch, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(host_[0], 7);
}

TEST_F(Late, AStreamThatGoesDoesItsWork) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    fill(7, stream);
    EXPECT_EQ(cudaEventRecord(event_, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(streams_[0], event_, 0), cudaSuccess);
    EXPECT_EQ(fetched(streams_[0]), 7);
}

TEST_F(Late, ADeviceThatFailsForGoodDoesNoMoreWork) {
    fill(7, streams_[0]);
    fetch(streams_[0]);
    simt::fail_call("*", 1, cudaErrorIllegalAddress, std::numeric_limits<int>::max() / 2);
    EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorIllegalAddress);
    simt::reset({.late = 1});
    EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(host_[0], 1);
}

TEST_F(Late, MemoryMayNotGoBeforeItsCopy) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto free_too_early = [this] {
        fetch(streams_[0]);
        (void)cudaFreeHost(host_);
    };
    EXPECT_DEATH(free_too_early(), "memory goes that work on a stream is still to come by");
    const auto free_across = [this] {
        std::uint8_t* scratch = nullptr;
        (void)cudaMallocAsync(&scratch, bytes, streams_[0]);
        (void)cudaMemsetAsync(scratch, 7, bytes, streams_[0]);
        (void)cudaFreeAsync(scratch, streams_[1]);
        (void)cudaStreamSynchronize(streams_[1]);
    };
    EXPECT_DEATH(free_across(), "memory goes that work on a stream is still to come by");
}

__global__ void load_vector(const std::uint8_t* from, uint4* to) {
    *to = *reinterpret_cast<const uint4*>(from);
}
__global__ void store_word(std::uint8_t* to) {
    *reinterpret_cast<std::uint32_t*>(to) = 1;
}

TEST_F(Simt, AnAddressThatIsNotAlignedStopsTheKernel) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    Buffer<std::uint8_t> from(64);
    Buffer<uint4> to(1);
    EXPECT_EQ(launch(load_vector, 1, 1, 0, from.device() + 16, to.device()), cudaSuccess);
    EXPECT_EQ(launch(store_word, 1, 1, 0, from.device() + 4), cudaSuccess);
    EXPECT_DEATH(launch(load_vector, 1, 1, 0, from.device() + 8, to.device()), "misaligned address");
    EXPECT_DEATH(launch(store_word, 1, 1, 0, from.device() + 2), "misaligned address");
}

TEST_F(Simt, OnAGuardedMachineTheHostDoesNotFollowADevicesPointers) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    simt::reset({.guarded = true});
    Buffer<unsigned> sums(2);
    EXPECT_EQ(launch(sum_block, 2, 4, 16, Block{sums.device(), 1}), cudaSuccess);
    EXPECT_EQ(sums.fetch(), (std::vector<unsigned>{6, 22}));
    EXPECT_DEATH(std::printf("%u", *static_cast<volatile unsigned*>(sums.device())), "");
}

TEST_F(Simt, OnAGuardedMachineAKernelReadsNothingBehindAllocations) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    simt::reset({.guarded = true});
    for (const std::size_t blocks : {1, 16, 256, 272}) {
        Buffer<uint4> from(blocks), to(1);
        const auto* const first = reinterpret_cast<const std::uint8_t*>(from.device());
        const std::size_t bytes = blocks * sizeof(uint4);
        EXPECT_EQ(launch(load_vector, 1, 1, 0, first, to.device()), cudaSuccess);
        EXPECT_EQ(launch(load_vector, 1, 1, 0, first + bytes - sizeof(uint4), to.device()), cudaSuccess);
        EXPECT_DEATH(launch(load_vector, 1, 1, 0, first + (bytes + 255) / 256 * 256, to.device()), "") << blocks;
    }
}

__global__ void shift_by(unsigned* to, unsigned by) {
    *to = 3u << by;
}

TEST_F(Simt, AShiftByAWordsWidthStopsTheKernel) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    Buffer<unsigned> to(1);
    EXPECT_EQ(launch(shift_by, 1, 1, 0, to.device(), 31u), cudaSuccess);
    EXPECT_EQ(to.fetch()[0], 0x80000000u);
    EXPECT_DEATH(launch(shift_by, 1, 1, 0, to.device(), 32u), "shift exponent 32 is too large");
}

}  // namespace
}  // namespace simt_test
