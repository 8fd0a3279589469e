// Asynchronous copies from device memory to shared memory (compute capability 8.0 and later). Before 8.0, a copy is
// complete when its function returns.
#pragma once

#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

#if !defined(WARPAES_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define WARPAES_COPY_ASYNC
#endif

/// Copies 16 bytes; both addresses are multiples of 16. The rest of the 128-byte line is prefetched into the L2 cache.
__device__ __forceinline__ void copy_async_16(unsigned char* shared, const std::uint8_t* from) {
#if defined(WARPAES_COPY_ASYNC)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(from)
                 : "memory");
#else
    *reinterpret_cast<uint4*>(shared) = *reinterpret_cast<const uint4*>(from);
#endif
}

/// Copies 16 bytes if `present` is set; otherwise writes 16 zeros without reading `from`.
__device__ __forceinline__ void copy_async_16_if(bool present, unsigned char* shared, const std::uint8_t* from) {
#if defined(WARPAES_COPY_ASYNC)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(from), "r"(present ? 16u : 0u)
                 : "memory");
#else
    *reinterpret_cast<uint4*>(shared) = present ? *reinterpret_cast<const uint4*>(from) : uint4{};
#endif
}

/// Copies 4 bytes; both addresses are multiples of 4.
__device__ __forceinline__ void copy_async_4(unsigned char* shared, const std::uint8_t* from) {
#if defined(WARPAES_COPY_ASYNC)
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4;"
                 :
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(from)
                 : "memory");
#else
    *reinterpret_cast<std::uint32_t*>(shared) = *reinterpret_cast<const std::uint32_t*>(from);
#endif
}

/// Combines the copies that this thread has issued since the last commit into a group.
__device__ __forceinline__ void copy_async_commit() {
#if defined(WARPAES_COPY_ASYNC)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until all of this thread's groups except the latest `Pending` are complete.
template <int Pending>
__device__ __forceinline__ void copy_async_wait() {
#if defined(WARPAES_COPY_ASYNC)
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

#undef WARPAES_COPY_ASYNC

}  // namespace warpaes::cuda
