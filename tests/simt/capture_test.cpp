// Tests streams in capture and graphs. simulated/capture_rules_test.cpp tests the calls that are refused during a
// capture.
#include <array>
#include <utility>

#include "simt_fixture.hpp"

namespace simt_test {
namespace {

/// Provides two streams and memory, on a machine that runs work immediately (parameter 0) or late (parameter 1).
class Captures : public Simt, public testing::WithParamInterface<unsigned> {
protected:
    Captures() {
        simt::reset({.late = GetParam()});
        for (cudaStream_t& s : streams_) EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
        EXPECT_EQ(cudaMalloc(&device_, bytes), cudaSuccess);
        EXPECT_EQ(cudaMemset(device_, 1, bytes), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    ~Captures() override {
        EXPECT_EQ(cudaFree(device_), cudaSuccess);
        EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
        for (const cudaStream_t s : streams_) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
        EXPECT_EQ(simt::usage(), simt::Usage{});
    }
    void begin() { ASSERT_EQ(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeGlobal), cudaSuccess); }
    cudaError_t end() {
        EXPECT_EQ(graph_, nullptr);
        return cudaStreamEndCapture(streams_[0], &graph_);
    }
    void run() {
        cudaGraphExec_t exec = nullptr;
        ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(exec, streams_[1]), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
        ASSERT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    }
    void destroy() { EXPECT_EQ(cudaGraphDestroy(std::exchange(graph_, nullptr)), cudaSuccess); }
    cudaError_t fill(int value, cudaStream_t stream) { return cudaMemsetAsync(device_, value, bytes, stream); }
    int first() {
        std::array<std::uint8_t, bytes> host{};
        EXPECT_EQ(cudaMemcpy(host.data(), device_, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
        return host[0];
    }

    static constexpr std::size_t bytes = 64;
    std::array<cudaStream_t, 2> streams_{};
    cudaEvent_t event_ = nullptr;
    cudaGraph_t graph_ = nullptr;
    void* device_ = nullptr;
};

TEST_P(Captures, WorkIsDoneWhenTheGraphRuns) {
    begin();
    EXPECT_EQ(fill(7, streams_[0]), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    EXPECT_EQ(first(), 1);
    run();
    EXPECT_EQ(first(), 7);
    EXPECT_EQ(cudaMemset(device_, 2, bytes), cudaSuccess);
    EXPECT_EQ(first(), 2);
    run();
    EXPECT_EQ(first(), 7);
    destroy();
}

TEST_P(Captures, AnotherStreamTakesPartUntilItIsJoined) {
    for (const bool joins : {false, true}) {
        begin();
        EXPECT_EQ(cudaEventRecord(event_, streams_[0]), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(streams_[1], event_, 0), cudaSuccess);
        EXPECT_EQ(fill(9, streams_[1]), cudaSuccess);
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        EXPECT_EQ(cudaStreamIsCapturing(streams_[1], &status), cudaSuccess);
        EXPECT_EQ(status, cudaStreamCaptureStatusActive);
        if (joins) {
            EXPECT_EQ(cudaEventRecord(event_, streams_[1]), cudaSuccess);
            EXPECT_EQ(cudaStreamWaitEvent(streams_[0], event_, 0), cudaSuccess);
        }
        ASSERT_EQ(end(), joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
        EXPECT_EQ(cudaStreamIsCapturing(streams_[1], &status), cudaSuccess);
        EXPECT_EQ(status, cudaStreamCaptureStatusNone);
        EXPECT_EQ(first(), 1);
        if (joins) {
            run();
            EXPECT_EQ(first(), 9);
            destroy();
        }
    }
}

TEST_P(Captures, WhatCrossesTheirBordersSpoilsThem) {
    EXPECT_EQ(cudaEventRecord(event_, streams_[1]), cudaSuccess);
    begin();
    EXPECT_EQ(cudaStreamWaitEvent(streams_[0], event_, 0), cudaErrorStreamCaptureIsolation);
    EXPECT_EQ(fill(3, streams_[0]), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);

    begin();
    ASSERT_EQ(cudaStreamBeginCapture(streams_[1], cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, streams_[1]), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(streams_[0], event_, 0), cudaErrorStreamCaptureMerge);
    cudaGraph_t other = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(streams_[1], &other), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaErrorCapturedEvent);
    EXPECT_EQ(end(), cudaErrorIllegalState);
    EXPECT_EQ(first(), 1);
}

TEST_P(Captures, GraphsOwnTheirMemory) {
    begin();
    void* memory = nullptr;
    ASSERT_EQ(cudaMallocAsync(&memory, bytes, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(device_, memory, bytes, cudaMemcpyDefault, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory, 6, bytes, streams_[0]), cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(memory, streams_[0]), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    for (int time = 0; time < 2; ++time) {
        run();
        EXPECT_EQ(first(), 0xa5) << "the memory is undefined at the start of every run";
    }
    EXPECT_EQ(simt::usage().device_allocations, 2U);
    destroy();
    EXPECT_EQ(simt::usage().device_allocations, 1U);
}

INSTANTIATE_TEST_SUITE_P(Machine, Captures, testing::Values(0U, 1U));

}  // namespace
}  // namespace simt_test
