// GF(2^128) in kernels: the field elements of aes/ghash.hpp, and a product designed for 32-bit multipliers.
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

/// Returns the full 64-bit product of two words. In C++, ptxas would not recognize that the upper halves are zero, and
/// would also multiply them.
__device__ __forceinline__ std::uint64_t wide_product(std::uint32_t a, std::uint32_t b) {
#if defined(WARPAES_SIMT)
    return static_cast<std::uint64_t>(a) * b;
#else
    std::uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#endif
}

/// The carry-less product. As in aes/ghash.hpp, each multiplication uses every fourth bit of a factor: at most eight
/// ones are added at any position, so their count fits into four bits.
__device__ __forceinline__ std::uint64_t carryless_product(std::uint32_t a, std::uint32_t b) {
    std::uint64_t product = 0;
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        std::uint64_t sum = 0;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned j = (r + 4 - i) % 4;
            sum ^= wide_product(a & (0x11111111u << i), b & (0x11111111u << j));
        }
        product |= sum & (0x1111111111111111u << r);
    }
    return product;
}

struct Product128 {
    std::uint64_t high, low;
};

/// Computed by Karatsuba's method, with three products instead of four.
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

/// The product for aligned groups of four adjacent lanes that have the same factors: each lane computes one of
/// Karatsuba's three products. The function is not inlined, because fetching instructions that are not yet in the
/// instruction cache takes longer than the product.
__device__ __attribute__((noinline)) inline FieldElement product_by_four(FieldElement a, FieldElement b) {
    const unsigned q = lane_id() % 4;
    const Product128 mine = carryless_product(q == 0   ? a.low
                                              : q == 1 ? a.high
                                                       : a.low ^ a.high,
                                              q == 0   ? b.low
                                              : q == 1 ? b.high
                                                       : b.low ^ b.high);
    const auto of_lane = [&](int which) {
        return Product128{__shfl_sync(full_warp, static_cast<unsigned long long>(mine.high), which, 4),
                          __shfl_sync(full_warp, static_cast<unsigned long long>(mine.low), which, 4)};
    };
    const Product128 low = of_lane(0), high = of_lane(1);
    Product128 middle = of_lane(2);
    middle.low ^= low.low ^ high.low;
    middle.high ^= low.high ^ high.high;
    return warpaes::detail::reduce(high.high, high.low ^ middle.high, low.high ^ middle.low, low.low);
}

/// A factor by which many elements are multiplied. Values derived from the factor are computed once and stay in
/// registers.
///
/// A product consists of nine 32-bit products (Karatsuba). Each uses every fourth bit of the factors at a time, as
/// above. The masked words of this factor are precomputed, and the one-bit shift that a product needs in this bit order
/// is applied to the factor (divided_by_x). 144 multiplications and 250 other instructions remain.
class Multiplier {
public:
    __device__ __forceinline__ explicit Multiplier(FieldElement factor) {
        const FieldElement f = divided_by_x(factor);
        const Words w{static_cast<std::uint32_t>(f.low), static_cast<std::uint32_t>(f.low >> 32),
                      static_cast<std::uint32_t>(f.high), static_cast<std::uint32_t>(f.high >> 32)};
#pragma unroll
        for (unsigned i = 0; i < 9; ++i) {
#pragma unroll
            for (unsigned bit = 0; bit < 4; ++bit) masked_[i][bit] = sum_of(w, i) & (0x11111111u << bit);
        }
    }

    [[nodiscard]] __device__ __forceinline__ FieldElement times(FieldElement e) const {
        const Words w{static_cast<std::uint32_t>(e.low), static_cast<std::uint32_t>(e.low >> 32),
                      static_cast<std::uint32_t>(e.high), static_cast<std::uint32_t>(e.high >> 32)};
        const Quad low = product_of_64(w, 0), high = product_of_64(w, 3), both = product_of_64(w, 6);
        std::uint32_t r[8];
        r[0] = low.w[0];
        r[1] = low.w[1];
        r[2] = low.w[2] ^ both.w[0] ^ low.w[0] ^ high.w[0];
        r[3] = low.w[3] ^ both.w[1] ^ low.w[1] ^ high.w[1];
        r[4] = high.w[0] ^ both.w[2] ^ low.w[2] ^ high.w[2];
        r[5] = high.w[1] ^ both.w[3] ^ low.w[3] ^ high.w[3];
        r[6] = high.w[2];
        r[7] = high.w[3];
        // Reduction modulo x^128 + x^7 + x^2 + x + 1; the bits that are shifted out at the end enter again at r[3].
        r[3] ^= (r[0] << 31) ^ (r[0] << 30) ^ (r[0] << 25);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const std::uint32_t above = i < 3 ? r[i + 1] : 0;
            r[4 + i] ^= r[i] ^ __funnelshift_r(r[i], above, 1) ^ __funnelshift_r(r[i], above, 2) ^
                        __funnelshift_r(r[i], above, 7);
        }
        return {join(r[7], r[6]), join(r[5], r[4])};
    }

private:
    using Words = std::uint32_t[4];
    struct Quad {
        std::uint32_t w[4];
    };

    /// Returns one of the nine sums of words: for the lower half, the upper half and the sum of both halves, the lower
    /// word, the upper word and the sum of both words.
    __device__ __forceinline__ static std::uint32_t sum_of(const Words& w, unsigned i) {
        const unsigned half = i / 3, word = i % 3;
        const std::uint32_t low = half == 0 ? w[0] : half == 1 ? w[2] : w[0] ^ w[2];
        const std::uint32_t high = half == 0 ? w[1] : half == 1 ? w[3] : w[1] ^ w[3];
        return word == 0 ? low : word == 1 ? high : low ^ high;
    }

    [[nodiscard]] __device__ __forceinline__ std::uint64_t product_of_32(std::uint32_t a, unsigned i) const {
        std::uint64_t product = 0;
#pragma unroll
        for (unsigned r = 0; r < 4; ++r) {
            std::uint64_t sum = 0;
#pragma unroll
            for (unsigned bit = 0; bit < 4; ++bit) {
                sum ^= wide_product(a & (0x11111111u << bit), masked_[i][(r + 4 - bit) % 4]);
            }
            product |= sum & (0x1111111111111111u << r);
        }
        return product;
    }

    [[nodiscard]] __device__ __forceinline__ Quad product_of_64(const Words& w, unsigned first) const {
        const std::uint64_t low = product_of_32(sum_of(w, first), first);
        const std::uint64_t high = product_of_32(sum_of(w, first + 1), first + 1);
        const std::uint64_t both = product_of_32(sum_of(w, first + 2), first + 2) ^ low ^ high;
        return {{static_cast<std::uint32_t>(low),
                 static_cast<std::uint32_t>(low >> 32) ^ static_cast<std::uint32_t>(both),
                 static_cast<std::uint32_t>(high) ^ static_cast<std::uint32_t>(both >> 32),
                 static_cast<std::uint32_t>(high >> 32)}};
    }

    std::uint32_t masked_[9][4];
};

/// Returns `first` times power^n for a lane's `n`, which is below `Lanes`, a power of two. On return, `power` is
/// power^Lanes.
template <unsigned Lanes>
__device__ __forceinline__ FieldElement times_power(FieldElement first, FieldElement& power, unsigned n) {
#pragma unroll 1
    for (unsigned bit = 1; bit < Lanes; bit *= 2) {
        const FieldElement longer = product(first, power);
        if ((n & bit) != 0) first = longer;
        power = square(power);
    }
    return first;
}

__device__ __forceinline__ FieldElement shuffle_xor(FieldElement e, int lanes) {
    return {__shfl_xor_sync(full_warp, static_cast<unsigned long long>(e.high), lanes),
            __shfl_xor_sync(full_warp, static_cast<unsigned long long>(e.low), lanes)};
}

__device__ __forceinline__ FieldElement shuffle_down(FieldElement e, unsigned lanes) {
    return {__shfl_down_sync(full_warp, static_cast<unsigned long long>(e.high), lanes),
            __shfl_down_sync(full_warp, static_cast<unsigned long long>(e.low), lanes)};
}

/// Returns the sum over the lanes of a warp, in lane 0.
__device__ __forceinline__ FieldElement sum_over_warp(FieldElement e) {
    for (unsigned lanes = warp_lanes / 2; lanes != 0; lanes /= 2) e = e ^ shuffle_down(e, lanes);
    return e;
}

}  // namespace warpaes::cuda
