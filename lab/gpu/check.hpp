// Error checks for the lab's sources that include CUDA headers.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Throws Error if an operation failed. `what` names the operation in the message.
inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    (void)cudaGetLastError();  // clear the error, so that the next call does not report it again
    throw Error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace lab::gpu
