// Matrix products of bits on the tensor cores.
#pragma once

#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// counts += a * b for a 16 x 256 and a 256 x 8 matrix of bits. The product of a row and a column is the number of ones
/// that they have in common; its lowest bit is the product over GF(2). Lane 4g + q provides words q and q + 4 (32 bits
/// each) of rows g (a0, a2) and g + 8 (a1, a3) of `a`, and words q (b0) and q + 4 (b1) of column g of `b`. It holds the
/// counts of rows g (0, 1) and g + 8 (2, 3) in columns 2q and 2q + 1. Requires compute capability 8.0 or newer.
__device__ __forceinline__ void binary_mma(std::uint32_t (&counts)[4], std::uint32_t a0, std::uint32_t a1,
                                           std::uint32_t a2, std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
#if defined(WARPAES_SIMT)
    simt::BinaryProduct operands{{a0, a1, a2, a3}, {b0, b1}, {counts[0], counts[1], counts[2], counts[3]}};
    simt::binary_mma(operands);
    for (int i = 0; i < 4; ++i) counts[i] = operands.d[i];
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    __trap();
#endif
}

/// Whether this code contains wide_mma, which is available only in machine code for 9.0a. All other code uses
/// binary_mma instead.
#if defined(WARPAES_SIMT) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool has_wide_mma = true;
#else
inline constexpr bool has_wide_mma = false;
#endif

/// The address of a matrix in shared memory, for wide_mma. In device code, it is an address within shared memory, not a
/// pointer; shared_apart() describes why it is computed separately.
#if defined(WARPAES_SIMT)
using MatrixAddress = const unsigned char*;
inline MatrixAddress matrix_address(unsigned offset) {
    return dynamic_shared() + offset;
}
#else
using MatrixAddress = std::uint32_t;
__device__ __forceinline__ MatrixAddress matrix_address(unsigned offset) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_apart())) + offset;
}
#endif

/// Computes the product of binary_mma() for 16 tiles of 8 columns at once, in four warps together. The tensor cores
/// read B from shared memory: the columns of tile m are the 128 bytes at offset 128 m, in which words 0 … 3 of column g
/// are at 16 g; words 4 … 7 have the same layout, 2 KiB further on. The previous counts are kept only if `add` is set.
/// Call the function between wide_begin and wide_end, and do not write its registers in between.
__device__ __forceinline__ void wide_mma(std::uint32_t (&counts)[64], uint4 a, MatrixAddress b, bool add) {
#if defined(WARPAES_SIMT)
    const unsigned g = lane_id() / 4, q = lane_id() % 4;
    for (unsigned m = 0; m < 16; ++m) {
        const auto* words = reinterpret_cast<const std::uint32_t*>(b + 128 * m + 16 * g + 4 * q);
        std::uint32_t tile[4];
        for (unsigned i = 0; i < 4; ++i) tile[i] = add ? counts[4 * m + i] : 0;
        binary_mma(tile, a.x, a.y, a.z, a.w, words[0], words[512]);
        for (unsigned i = 0; i < 4; ++i) counts[4 * m + i] = tile[i];
    }
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    // Matrix descriptor without swizzle: the address, 2 KiB between the halves of K, and 128 bytes between tiles, all
    // divided by 16.
    const std::uint64_t descriptor = (b >> 4) | (std::uint64_t{2048 / 16} << 16) | (std::uint64_t{128 / 16} << 32);
#define WARPAES_COUNTS(i) "+r"(counts[i]), "+r"(counts[i + 1]), "+r"(counts[i + 2]), "+r"(counts[i + 3])
    asm volatile(
        "{.reg .pred p;\n"
        "setp.ne.u32 p, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, p;}\n"
        : WARPAES_COUNTS(0), WARPAES_COUNTS(4), WARPAES_COUNTS(8), WARPAES_COUNTS(12), WARPAES_COUNTS(16),
          WARPAES_COUNTS(20), WARPAES_COUNTS(24), WARPAES_COUNTS(28), WARPAES_COUNTS(32), WARPAES_COUNTS(36),
          WARPAES_COUNTS(40), WARPAES_COUNTS(44), WARPAES_COUNTS(48), WARPAES_COUNTS(52), WARPAES_COUNTS(56),
          WARPAES_COUNTS(60)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(descriptor), "r"(static_cast<std::uint32_t>(add))
        : "memory");
#undef WARPAES_COUNTS
#else
    __trap();
#endif
}

/// wide_begin must precede calls of wide_mma whose registers other instructions have written; wide_end must follow them
/// and waits for the results.
__device__ __forceinline__ void wide_begin() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(WARPAES_SIMT)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void wide_end() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(WARPAES_SIMT)
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

/// Makes this thread's writes to shared memory visible to wide_mma after the next barrier.
__device__ __forceinline__ void wide_fence() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(WARPAES_SIMT)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace warpaes::cuda
