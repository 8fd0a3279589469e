// Groups on a caller's stream: enqueued, and left to it.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/batch.hpp"

namespace warpaes::cuda {

/// Of a device. What a batch needs of memory is its own until the stream is through, and then the next one's; where the
/// stream is being captured, until the graph is gone. Thread-safe.
class StreamBatches {
public:
    /// See CudaBackend::enqueue.
    void enqueue(int device, const DeviceLimits& limits, CopyQueues& queues, std::span<const MessageGroup> groups,
                 cudaStream_t stream);

private:
    struct Slot {
        BatchMemory memory;
        std::atomic<bool> busy{true};
        std::atomic<bool> by_event{false};  ///< it is free when `memory.done` has come
    };
    [[nodiscard]] Slot& take(bool captured);
    /// Called when the stream is through, or the graph gone. Calls nothing of CUDA.
    static void let_go(void* slot) noexcept;
    static void let_go_with(cudaGraph_t graph, Slot& slot);

    std::mutex mutex_;
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace warpaes::cuda
