// For sources of the lab that see CUDA's headers.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Throws Error, naming what failed.
inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    (void)cudaGetLastError();  // a failure that is reported must not turn up again in the next call
    throw Error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace lab::gpu
