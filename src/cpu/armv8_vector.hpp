// The AES and PMULL instructions of 64-bit Arm: one block per register. For files compiled for both extensions; private
// to each of these files.
//
// AESE adds a round key, then substitutes and shifts; AESMC mixes the columns. On x86, a round is one instruction,
// which adds the round key last. Here, a round is AESE and AESMC, which the CPUs fuse if they are adjacent, and the
// next AESE adds the round key. A block of AES-128 takes 20 such instructions and one addition.
#pragma once

#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

namespace {

/// Xmm in aesni_vector.hpp documents the less obvious functions.
struct Neon {
    using Reg = uint8x16_t;
    static constexpr std::size_t bytes = 16;
    /// A pipe accepts a pair of AESE and AESMC each cycle and has a latency of two cycles. According to LLVM's models,
    /// Neoverse N1 has one such pipe, N2 has two, and V1 and V2 have four.
    static constexpr std::size_t unroll = 8;
    static constexpr bool has_masks = false;
    static constexpr bool folds = false;
    static constexpr std::size_t ctr_vectors = 8;  ///< with more vectors, steps would not end at the ends of the
                                                   ///< counter tables
    static constexpr std::size_t registers = 32;

    WARPAES_INLINE static Reg load(const std::uint8_t* p, Whole) { return vld1q_u8(p); }
    WARPAES_INLINE static Reg load(const std::uint8_t* p, Part part) { return load_part<Neon>(p, part.bytes); }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Whole) { vst1q_u8(p, v); }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Part part) { store_part<Neon>(p, v, part.bytes); }

    /// The CPUs detect by themselves that whole cache lines are written, and do not read the lines first.
    WARPAES_INLINE static void stream(std::uint8_t* p, Reg v) { vst1q_u8(p, v); }

    WARPAES_INLINE static Reg splat(Reg128 block) { return block; }
    WARPAES_INLINE static Reg128 first_block(Reg v) { return v; }
    WARPAES_INLINE static Reg shift_in(Reg before, Reg /*v*/) { return before; }
    WARPAES_INLINE static Reg join_index(std::size_t /*blocks*/) { return zero(); }
    WARPAES_INLINE static Reg joined(Reg /*before*/, Reg v, Reg /*index*/) { return v; }
    WARPAES_INLINE static Reg bxor(Reg a, Reg b) { return veorq_u8(a, b); }

    /// The sum of `block` and `addend`, which the next round computes.
    struct State {
        Reg block, addend;
    };
    WARPAES_INLINE static State state(Reg v) { return {v, zero()}; }
    WARPAES_INLINE static State sum(Reg a, Reg b) { return {a, b}; }
    WARPAES_INLINE static State sum(Reg a, Reg b, Reg c) { return {a, bxor(b, c)}; }
    WARPAES_INLINE static State add(State s, Reg v) { return {s.block, bxor(s.addend, v)}; }
    WARPAES_INLINE static Reg value(State s) { return bxor(s.block, s.addend); }

    WARPAES_INLINE static State aesenc(State s, Reg k) { return {vaesmcq_u8(vaeseq_u8(s.block, s.addend)), k}; }
    WARPAES_INLINE static State aesenclast(State s, Reg k) { return {vaeseq_u8(s.block, s.addend), k}; }
    WARPAES_INLINE static State aesdec(State s, Reg k) { return {vaesimcq_u8(vaesdq_u8(s.block, s.addend)), k}; }
    WARPAES_INLINE static State aesdeclast(State s, Reg k) { return {vaesdq_u8(s.block, s.addend), k}; }

    WARPAES_INLINE static Reg swap_bytes(Reg v) {
        return vqtbl1q_u8(v, make128(0x0001020304050607, 0x08090a0b0c0d0e0f));
    }

    template <int Bytes>
    WARPAES_INLINE static Reg shift_left_bytes(Reg v) {
        return vextq_u8(zero(), v, 16 - Bytes);
    }
    template <int Bytes>
    WARPAES_INLINE static Reg shift_right_bytes(Reg v) {
        return vextq_u8(v, zero(), Bytes);
    }
    template <int Halves>
    WARPAES_INLINE static Reg multiply(Reg a, Reg b) {
        if constexpr (Halves == 0x00) {
            return low_product(a, b);
        } else if constexpr (Halves == 0x11) {
            return high_product(a, b);
        } else if constexpr (Halves == 0x01) {
            return low_product(swap_halves(a), b);
        } else {
            return high_product(swap_halves(a), b);
        }
    }
    WARPAES_INLINE static Reg powers_of_two(std::size_t first) { return make128(0, std::uint64_t{1} << first); }

    WARPAES_INLINE static Reg zero() { return vdupq_n_u8(0); }
    WARPAES_INLINE static Reg bxor3(Reg a, Reg b, Reg c) { return bxor(a, bxor(b, c)); }
    WARPAES_INLINE static Reg from_block(Reg128 block) { return block; }
    WARPAES_INLINE static Reg128 sum_of_blocks(Reg v) { return v; }
    WARPAES_INLINE static Reg swap_halves(Reg v) { return vextq_u8(v, v, 8); }
    WARPAES_INLINE static Reg first_bytes(Reg v, std::size_t n) { return keep_first<Neon>(v, n); }
    WARPAES_INLINE static Reg lane_numbers() { return zero(); }
    WARPAES_INLINE static Reg add64(Reg a, Reg b) {
        return vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
    WARPAES_INLINE static Reg lane_multiples(std::uint32_t /*n*/) { return zero(); }
    WARPAES_INLINE static Reg add32(Reg a, Reg b) { return add_words(a, b); }
    WARPAES_INLINE static Reg band(Reg a, Reg b) { return vandq_u8(a, b); }

    WARPAES_INLINE static Reg shuffle_bytes(Reg v, Reg128 pattern) { return vqtbl1q_u8(v, pattern); }

    WARPAES_INLINE static Reg load_each(const std::uint8_t* const* p, std::size_t at) { return vld1q_u8(p[0] + at); }
    WARPAES_INLINE static void store_each(std::uint8_t* const* p, std::size_t at, Reg v) { vst1q_u8(p[0] + at, v); }
    WARPAES_INLINE static void load_four(const std::uint8_t* const* p, std::size_t at, Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) t[b] = vld1q_u8(p[0] + at + 16 * b);
    }
    WARPAES_INLINE static void store_four(std::uint8_t* const* p, std::size_t at, const Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) vst1q_u8(p[0] + at + 16 * b, t[b]);
    }

    WARPAES_INLINE static Reg unpack8(Reg a, Reg b) { return vzip1q_u8(a, b); }
    WARPAES_INLINE static Reg unpack16(Reg a, Reg b) {
        return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    }
    WARPAES_INLINE static Reg unpack32(Reg a, Reg b) {
        return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    }
    WARPAES_INLINE static Reg unpack64(Reg a, Reg b) {
        return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
    WARPAES_INLINE static Reg shift_left_bits(Reg here, Reg next, int n) {
        return vorrq_u8(vshlq_u8(here, shift(n)), vshlq_u8(next, shift(n - 8)));
    }
    WARPAES_INLINE static Reg first_bit(Reg v, int n) { return vshlq_u8(vandq_u8(v, vdupq_n_u8(0x80)), shift(-n)); }

private:
    WARPAES_INLINE static Reg low_product(Reg a, Reg b) {
        const poly64x2_t x = vreinterpretq_p64_u8(a), y = vreinterpretq_p64_u8(b);
        return vreinterpretq_u8_p128(vmull_p64(vgetq_lane_p64(x, 0), vgetq_lane_p64(y, 0)));
    }
    WARPAES_INLINE static Reg high_product(Reg a, Reg b) {
        return vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u8(a), vreinterpretq_p64_u8(b)));
    }
    /// Returns bit counts for a shift of each byte: to the left, or to the right if negative.
    WARPAES_INLINE static int8x16_t shift(int bits) { return vdupq_n_s8(static_cast<std::int8_t>(bits)); }
};

/// For CPUs that have no more pipes for products than for rounds, so that every avoided product saves time.
struct FoldingNeon : Neon {
    static constexpr bool folds = true;
};

}  // namespace

}  // namespace warpaes::cpu
