// From a run to kernels on a stream.
#pragma once

#include <cuda_runtime.h>

#include "backend/backend.hpp"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

/// Enqueues `run`, whose buffers are memory of the current device. Scratch memory is taken from and given back to the
/// stream.
void enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream);

}  // namespace warpaes::cuda
