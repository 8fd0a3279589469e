// The circuit of the AES S-box (FIPS 197, 5.1.1) in GPU instructions. Part of <warpaes/device.cuh>, whose rules apply.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <warpaes/device/sbox_circuit.cuh>

// Placed before a loop that device code must unroll, or must not unroll. Empty in host code, whose compiler does not
// support these pragmas.
#if defined(__CUDA_ARCH__)
#define WARPAES_UNROLL _Pragma("unroll")
#define WARPAES_KEEP_ROLLED _Pragma("unroll 1")
#else
#define WARPAES_UNROLL
#define WARPAES_KEEP_ROLLED
#endif

namespace warpaes::device {

namespace detail {

/// Gates that are one LOP3 instruction each in device code.
struct Lop3 {
    template <unsigned Table>
    __host__ __device__ __forceinline__ static std::uint32_t lut3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
        std::uint32_t out;
        asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out) : "r"(a), "r"(b), "r"(c), "n"(Table));
        return out;
#else
        return Gates::lut3<Table>(a, b, c);
#endif
    }
};

}  // namespace detail

/// Computes x := S(x) ^ 0x63 for 32 bytes at once, in 63 instructions; plane x[i] holds bit i of each byte. The caller
/// adds the constant 0x63, for example by folding it into a round key.
__host__ __device__ __forceinline__ void sub_planes_without_constant(std::uint32_t* x) {
    detail::sbox_circuit<detail::Lop3>(x);
}

namespace detail {

/// Computes SubWord (FIPS 197, 5.2) of `word` rotated right by `8 * Rotate` bits with the circuit, in about 100
/// instructions. A word shifted right by i serves as plane i: its bits 0, 8, 16 and 24 are bit i of the four bytes; the
/// other bits are ignored.
template <unsigned Rotate>
__host__ __device__ __forceinline__ std::uint32_t sub_word(std::uint32_t word) {
    std::uint32_t planes[8];
    WARPAES_UNROLL
    for (unsigned bit = 0; bit < 8; ++bit) planes[bit] = word >> bit;
    sub_planes_without_constant(planes);
    std::uint32_t out = 0x63636363u;
    WARPAES_UNROLL
    for (unsigned bit = 0; bit < 8; ++bit) out ^= (planes[bit] & 0x01010101u) << bit;
    return Rotate == 0 ? out : out >> (8 * Rotate % 32) | out << ((32 - 8 * Rotate) % 32);
}

/// Multiplies each of the four bytes of a word by x in GF(2^8) (FIPS 197, 4.2).
__host__ __device__ __forceinline__ std::uint32_t xtime4(std::uint32_t v) {
    return ((v & 0x7f7f7f7fu) << 1) ^ (((v >> 7) & 0x01010101u) * 0x1bu);
}

}  // namespace detail

}  // namespace warpaes::device
