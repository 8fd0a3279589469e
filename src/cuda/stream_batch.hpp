// Enqueues groups on a caller's stream without waiting for them.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/batch.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// There is one object per device. A batch owns its memory until the stream reaches the batch's end; then the next
/// batch reuses the memory. If the stream is being captured, the graph owns the memory until the graph is destroyed;
/// then the next captured batch, or any other batch, reuses it. Thread-safe.
class StreamBatches {
public:
    StreamBatches() { keep_some(); }

    /// See CudaBackend::enqueue.
    void enqueue(int device, const DeviceLimits& limits, CopyQueues& queues, std::span<const MessageGroup> groups,
                 cudaStream_t stream);

private:
    struct Slot {
        BatchMemory memory;
        std::atomic<bool> busy{true};
        std::atomic<bool> by_event{false};  ///< whether the slot becomes free when `memory.done` has completed
        bool for_graphs = false;            ///< whether the slot was created for a captured batch
    };
    /// Allocates memory for the first batch of few messages, if the device has any memory left.
    void keep_some() noexcept;
    [[nodiscard]] Slot& take(bool captured);
    /// Called when the stream reaches the batch's end, or when the graph is destroyed. Must not call CUDA.
    static void let_go(void* slot) noexcept;
    /// Passes a slot to a graph, or releases the slot if the graph does not accept it.
    static void let_go_with(cudaGraph_t graph, Slot& slot);

    std::mutex mutex_;
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace warpaes::cuda
