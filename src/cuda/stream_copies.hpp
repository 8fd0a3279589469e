// Batches on a caller's stream whose texts are also copied to or from page-locked memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/group.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

/// The streams of copies. There is one object per device. Thread-safe.
class StreamCopies {
public:
    using Enqueue = std::function<void(std::span<const MessageGroup>)>;

    /// See CudaBackend::enqueue_copied. `enqueue` enqueues some of the groups on `stream`. A part of the groups is
    /// copied while the next part is encrypted, or the part before it is decrypted. If `stream` is in capture, all work
    /// is on `stream`.
    void enqueue(std::span<const MessageGroup> groups, std::span<std::uint8_t* const> copies, bool more,
                 cudaStream_t stream, const Enqueue& enqueue);
    /// Makes `stream` wait for all copies of earlier calls with `more`, unless it is in capture.
    void finish(cudaStream_t stream);

private:
    struct Queue {
        Stream stream;
        Event event;         ///< recorded after the last copy of a batch
        bool taken = false;  ///< by a call
        bool open = false;   ///< whether `caller` does not wait for the copies yet
        cudaStream_t caller = nullptr;
    };
    class Lease;
    /// The queue that `caller` has left open, or another one.
    [[nodiscard]] Queue* find(cudaStream_t caller);

    std::mutex mutex_;
    std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace warpaes::cuda
