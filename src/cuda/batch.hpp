// Batches on a lane: copies descriptors, keys and data to the device, runs the kernels, and copies results to host
// memory.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "backend/group.hpp"
#include "base/pool.hpp"
#include "cuda/batch_data.hpp"
#include "cuda/key_table.hpp"
#include "cuda/resources.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Memory that a lane keeps for batches.
struct BatchMemory {
    BatchDataMemory data;
    PageLockedBuffer side;  ///< descriptors, and the IVs, associated data, tags and keys that are in host memory
    DeviceBuffer device_side, scratch, slots;
    Event event, done;
    std::array<std::unique_ptr<Stream>, 3>
        beside;  ///< streams for kernels that may run concurrently with the lane's own kernels

    std::vector<std::unique_ptr<BatchMemory>> others;  ///< for parts that other threads prepare; see run_batch

    BatchMemory() = default;
    BatchMemory(const BatchMemory&) = delete;
    BatchMemory& operator=(const BatchMemory&) = delete;
    ~BatchMemory() { release(); }
    void wipe(cudaStream_t stream) noexcept;
    void release() noexcept;
    /// Whether the memory of batches that are enqueued may be freed when it grows (GrowingBuffer::may_free).
    void may_free(bool may) noexcept;
};

struct BatchContext {
    int device;
    const DeviceLimits& limits;
    CopyQueues& queues;
    KeyTable* key_table;  ///< null: the batch does not share its expanded keys
    cudaStream_t stream;
    BatchMemory& memory;
    Pool* pool;  ///< may be null
};

/// Runs `groups` on the current device. Returns when all groups are finished.
void run_batch(const BatchContext& context, std::span<const MessageGroup> groups);

}  // namespace warpaes::cuda
