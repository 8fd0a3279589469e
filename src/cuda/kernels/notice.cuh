// The end of a launch that the host hears of from the kernel itself.
#pragma once

#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// What this thread has written or seen, everybody on the device sees who comes by what it writes next. Weaker than
/// __threadfence(), and quicker.
__device__ __forceinline__ void fence_device() {
#if defined(__CUDA_ARCH__)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __threadfence();
#endif
}

/// And the host.
__device__ __forceinline__ void fence_system() {
#if defined(__CUDA_ARCH__)
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    __threadfence_system();
#endif
}

/// One thread of the grid, after which no other writes anything.
__device__ __forceinline__ void give_notice(const Notice& n) {
    if (n.word == nullptr) return;
    fence_system();
    *static_cast<volatile unsigned*>(n.word) = n.value;
}

/// All threads of every thread block, when they have written all they write.
__device__ __forceinline__ void arrive(const Notice& n) {
    if (n.word == nullptr) return;
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (gridDim.x > 1) {
        fence_device();
        if (atomicAdd(n.arrived, 1u) != gridDim.x - 1) return;
        *n.arrived = 0;
    }
    give_notice(n);
}

}  // namespace warpaes::cuda
