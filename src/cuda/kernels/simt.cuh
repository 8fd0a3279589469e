// Small helper functions for kernels, in addition to plain CUDA C++.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace warpaes::cuda {

inline constexpr unsigned full_warp = 0xffffffffu;
inline constexpr int warp_lanes = 32;

#if defined(WARPAES_SIMT)
inline unsigned char* dynamic_shared() {
    return static_cast<unsigned char*>(simt::dynamic_shared());
}
inline unsigned char* shared_apart() {
    return dynamic_shared();
}
#else
extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
__device__ __forceinline__ unsigned char* dynamic_shared() {
    return dynamic_shared_memory;
}
/// Returns the same address as dynamic_shared(), for data next to the T-tables. It is computed in assembly so that the
/// compiler cannot detect that both addresses are equal. Otherwise the compiler keeps the common base address in a
/// register and adds it to the address of every lookup (a tenth of GCM's time), instead of folding it into the load
/// instruction.
__device__ __forceinline__ unsigned char* shared_apart() {
    unsigned char* at;
    asm volatile("mov.b64 %0, %1;" : "=l"(at) : "l"(dynamic_shared_memory));
    return at;
}
#endif

__device__ __forceinline__ unsigned lane_id() {
    return threadIdx.x % warp_lanes;
}

/// Numbers and counts of threads and warps in the whole grid.
__device__ __forceinline__ std::uint64_t global_thread() {
    return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t global_threads() {
    return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}
__device__ __forceinline__ std::uint64_t global_warp() {
    return global_thread() / warp_lanes;
}
__device__ __forceinline__ std::uint64_t global_warps() {
    return global_threads() / warp_lanes;
}

/// Returns `pointer`, which must point to global memory. Use this function for pointers that a kernel loads from
/// memory: the compiler cannot determine that they do not point to shared memory.
template <typename T>
__device__ __forceinline__ T* global(T* pointer) {
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(pointer));
#endif
    return pointer;
}

/// The same for a pointer to shared memory that shared_apart() returns.
template <typename T>
__device__ __forceinline__ T* shared(T* pointer) {
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isShared(pointer));
#endif
    return pointer;
}

__device__ __forceinline__ uint4 operator^(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

/// Returns word `i` of four. The words stay in registers if `i` is a compile-time constant.
__device__ __forceinline__ std::uint32_t word_of(uint4 v, unsigned i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

__device__ __forceinline__ std::uint32_t byte_swap(std::uint32_t v) {
    return __byte_perm(v, 0, 0x0123);
}

__device__ __forceinline__ std::uint64_t shuffle(std::uint64_t v, unsigned source_lane) {
    return __shfl_sync(full_warp, static_cast<unsigned long long>(v), static_cast<int>(source_lane));
}

__device__ __forceinline__ uint4 shuffle(uint4 v, int source_lane) {
    return make_uint4(__shfl_sync(full_warp, v.x, source_lane), __shfl_sync(full_warp, v.y, source_lane),
                      __shfl_sync(full_warp, v.z, source_lane), __shfl_sync(full_warp, v.w, source_lane));
}

}  // namespace warpaes::cuda
