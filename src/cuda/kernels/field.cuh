// GF(2^128) in kernels: the field elements of aes/ghash.hpp, and a product that suits 32-bit multipliers.
//
// Constant time: no table, no branch and no address depends on a field element.
#pragma once

#include "aes/ghash.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

__device__ __forceinline__ std::uint64_t join(std::uint32_t high, std::uint32_t low) {
    return (static_cast<std::uint64_t>(high) << 32) | low;
}

__device__ __forceinline__ FieldElement element_of(uint4 block) {
    return {join(byte_swap(block.x), byte_swap(block.y)), join(byte_swap(block.z), byte_swap(block.w))};
}

__device__ __forceinline__ uint4 block_of(FieldElement e) {
    return make_uint4(byte_swap(static_cast<std::uint32_t>(e.high >> 32)),
                      byte_swap(static_cast<std::uint32_t>(e.high)), byte_swap(static_cast<std::uint32_t>(e.low >> 32)),
                      byte_swap(static_cast<std::uint32_t>(e.low)));
}

/// The carry-less product. As in aes/ghash.hpp every fourth bit at a time: at most eight ones meet in a place, so that
/// their count stays within its four bits.
__device__ __forceinline__ std::uint64_t carryless_product(std::uint32_t a, std::uint32_t b) {
    std::uint64_t product = 0;
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        std::uint64_t sum = 0;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned j = (r + 4 - i) % 4;
            sum ^= static_cast<std::uint64_t>(a & (0x11111111u << i)) * (b & (0x11111111u << j));
        }
        product |= sum & (0x1111111111111111u << r);
    }
    return product;
}

struct Product128 {
    std::uint64_t high, low;
};

/// Karatsuba: three products instead of four.
__device__ __forceinline__ Product128 carryless_product(std::uint64_t a, std::uint64_t b) {
    const auto a0 = static_cast<std::uint32_t>(a), a1 = static_cast<std::uint32_t>(a >> 32);
    const auto b0 = static_cast<std::uint32_t>(b), b1 = static_cast<std::uint32_t>(b >> 32);
    const std::uint64_t low = carryless_product(a0, b0), high = carryless_product(a1, b1);
    const std::uint64_t middle = carryless_product(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    return {high ^ (middle >> 32), low ^ (middle << 32)};
}

__device__ inline FieldElement product(FieldElement a, FieldElement b) {
    const Product128 low = carryless_product(a.low, b.low), high = carryless_product(a.high, b.high);
    Product128 middle = carryless_product(a.low ^ a.high, b.low ^ b.high);
    middle.low ^= low.low ^ high.low;
    middle.high ^= low.high ^ high.high;
    return warpaes::detail::reduce(high.high, high.low ^ middle.high, low.high ^ middle.low, low.low);
}

__device__ __forceinline__ FieldElement shuffle_down(FieldElement e, unsigned lanes) {
    return {__shfl_down_sync(full_warp, static_cast<unsigned long long>(e.high), lanes),
            __shfl_down_sync(full_warp, static_cast<unsigned long long>(e.low), lanes)};
}

/// The sum over the lanes of a warp, in lane 0.
__device__ __forceinline__ FieldElement sum_over_warp(FieldElement e) {
    for (unsigned lanes = warp_lanes / 2; lanes != 0; lanes /= 2) e = e ^ shuffle_down(e, lanes);
    return e;
}

}  // namespace warpaes::cuda
