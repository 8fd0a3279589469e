// The end of a launch in which the kernel itself notifies the host.
#pragma once

#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// Makes all data that this thread has written or observed visible to every thread of the device that observes this
/// thread's next write. Weaker and faster than __threadfence().
__device__ __forceinline__ void fence_device() {
#if defined(__CUDA_ARCH__)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __threadfence();
#endif
}

/// Allows the next kernel on the stream to begin, if it was launched early (launch.hpp): its thread blocks wait in
/// wait_for_kernel_before() until this kernel has ended.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Waits until the previous kernel has ended and its writes are visible. Returns immediately if this kernel was not
/// launched early.
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Like fence_device(), but also for the host.
__device__ __forceinline__ void fence_system() {
#if defined(__CUDA_ARCH__)
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    __threadfence_system();
#endif
}

/// Must be called by one thread of the grid, when no other thread has anything left to write.
__device__ __forceinline__ void give_notice(const Notice& n) {
    if (n.word == nullptr) return;
    fence_system();
    *static_cast<volatile unsigned*>(n.word) = n.value;
}

/// Must be called by all threads of every thread block after their last access. Returns true in one thread of the grid,
/// when the other threads have nothing left to do. `arrived` is as in Notice.
__device__ __forceinline__ bool is_last(unsigned* arrived) {
    __syncthreads();
    if (threadIdx.x != 0) return false;
    if (gridDim.x > 1) {
        fence_device();
        if (atomicAdd(arrived, 1u) != gridDim.x - 1) return false;
        *arrived = 0;
    }
    return true;
}

/// Like is_last(), but the last thread also notifies the host. Returns false in all threads if the host does not poll.
__device__ __forceinline__ bool arrive(const Notice& n) {
    if (n.word == nullptr || !is_last(n.arrived)) return false;
    give_notice(n);
    return true;
}

/// Must be called by one thread of each thread block. If the host polls, this thread must have executed fence_system()
/// since the thread block's last write.
__device__ __forceinline__ void give_share(const HostShares& s, uint4 share) {
    volatile unsigned long long* const words = s.words + blockIdx.x * HostShares::words_each;
#pragma unroll
    for (unsigned k = 0; k < HostShares::words_each && s.words != nullptr; ++k) {
        words[k] = (static_cast<unsigned long long>(s.turn) << 32) | word_of(share, k);
    }
    if (s.arrived != nullptr && blockIdx.x == 0) *s.arrived = 0;
    if (s.kept == nullptr) return;
#pragma unroll
    for (unsigned k = 0; k < HostShares::words_each; ++k) {
        s.kept[blockIdx.x * HostShares::words_each + k] = word_of(share, k);
    }
}

}  // namespace warpaes::cuda
