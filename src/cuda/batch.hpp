// Batches on a lane: brings descriptors, keys and data to the device, runs the kernels, brings back what is the host's.
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
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

/// What a lane keeps for batches.
struct BatchMemory {
    BatchDataMemory data;
    PageLockedBuffer side;  ///< descriptors, and of messages whose small things lie in host memory those
    DeviceBuffer device_side, scratch, slots;
    Event event, done;
    std::array<std::unique_ptr<Stream>, 3> beside;  ///< the lane's stream: for what may run at the same time

    std::vector<std::unique_ptr<BatchMemory>> others;  ///< for further threads, see run_batch

    BatchMemory() = default;
    BatchMemory(const BatchMemory&) = delete;
    BatchMemory& operator=(const BatchMemory&) = delete;
    ~BatchMemory() { release(); }
    void wipe(cudaStream_t stream) noexcept;
    void release() noexcept;
};

struct BatchContext {
    int device;
    const DeviceLimits& limits;
    CopyQueues& queues;
    KeyTable* key_table;  ///< null: the batch keeps its keys to itself
    cudaStream_t stream;
    BatchMemory& memory;
    Pool* pool;  ///< or null
};

/// Of the current device. Returns when all is done.
void run_batch(const BatchContext& context, std::span<const MessageGroup> groups);

}  // namespace warpaes::cuda
