// AES-NI: one block per register. For files compiled for SSSE3, AES and PCLMULQDQ; private to each of these files.
#pragma once

#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

namespace {

struct Xmm : PlainState<Xmm> {
    using Reg = __m128i;
    using State = Reg;
    static constexpr std::size_t bytes = 16;
    static constexpr std::size_t unroll = 8;
    static constexpr bool has_masks = false;  ///< whether partial loads and stores are as fast as whole vectors
    static constexpr bool folds = false;  ///< whether products are slow, so that three half-size products are faster
                                          ///< than four
    static constexpr std::size_t ctr_vectors = 8;  ///< vectors that CTR processes at once
    static constexpr std::size_t registers = 16;

    WARPAES_INLINE static Reg load(const std::uint8_t* p, Whole) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }
    WARPAES_INLINE static Reg load(const std::uint8_t* p, Part part) { return load_part<Xmm>(p, part.bytes); }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Whole) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
    }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Part part) { store_part<Xmm>(p, v, part.bytes); }

    /// Stores without first reading the cache line. `p` is aligned to the vector.
    WARPAES_INLINE static void stream(std::uint8_t* p, Reg v) { _mm_stream_si128(reinterpret_cast<__m128i*>(p), v); }

    WARPAES_INLINE static Reg splat(__m128i block) { return block; }
    WARPAES_INLINE static __m128i first_block(Reg v) { return v; }
    /// Returns the last block of `before`, followed by all blocks of `v` except the last.
    WARPAES_INLINE static Reg shift_in(Reg before, Reg /*v*/) { return before; }
    /// joined() returns the last `blocks` blocks of `before`, followed by the first blocks of `v`. `blocks` is less
    /// than the number of blocks in a vector. `index` is join_index(blocks).
    WARPAES_INLINE static Reg join_index(std::size_t /*blocks*/) { return zero(); }
    WARPAES_INLINE static Reg joined(Reg /*before*/, Reg v, Reg /*index*/) { return v; }
    WARPAES_INLINE static Reg bxor(Reg a, Reg b) { return _mm_xor_si128(a, b); }

    WARPAES_INLINE static State aesenc(State s, Reg k) { return _mm_aesenc_si128(s, k); }
    WARPAES_INLINE static State aesenclast(State s, Reg k) { return _mm_aesenclast_si128(s, k); }
    WARPAES_INLINE static State aesdec(State s, Reg k) { return _mm_aesdec_si128(s, k); }
    WARPAES_INLINE static State aesdeclast(State s, Reg k) { return _mm_aesdeclast_si128(s, k); }

    WARPAES_INLINE static Reg swap_bytes(Reg v) {
        return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    }

    /// Shifts each block, as a little-endian number, by whole bytes: multiplies or divides it by 256^Bytes.
    template <int Bytes>
    WARPAES_INLINE static Reg shift_left_bytes(Reg v) {
        return _mm_slli_si128(v, Bytes);
    }
    template <int Bytes>
    WARPAES_INLINE static Reg shift_right_bytes(Reg v) {
        return _mm_srli_si128(v, Bytes);
    }
    /// Returns the carry-less product of one half of each block of `a` and of `b`. Bit 0 of `Halves` selects the upper
    /// half of `a`, and bit 4 the upper half of `b`.
    template <int Halves>
    WARPAES_INLINE static Reg multiply(Reg a, Reg b) {
        return _mm_clmulepi64_si128(a, b, Halves);
    }
    /// Returns 2^(first + l) in lane l; all numbers must be below 2^64.
    WARPAES_INLINE static Reg powers_of_two(std::size_t first) {
        return _mm_set_epi64x(0, static_cast<long long>(std::uint64_t{1} << first));
    }

    WARPAES_INLINE static Reg zero() { return _mm_setzero_si128(); }
    WARPAES_INLINE static Reg bxor3(Reg a, Reg b, Reg c) { return bxor(a, bxor(b, c)); }
    /// Returns the block in lane 0, with zeros in the other lanes.
    WARPAES_INLINE static Reg from_block(__m128i block) { return block; }
    WARPAES_INLINE static __m128i sum_of_blocks(Reg v) { return v; }
    /// Exchanges the two halves of each lane.
    WARPAES_INLINE static Reg swap_halves(Reg v) { return _mm_shuffle_epi32(v, 0x4e); }
    /// Returns the first `n` bytes of the vector, followed by zeros.
    WARPAES_INLINE static Reg first_bytes(Reg v, std::size_t n) { return keep_first<Xmm>(v, n); }
    /// Returns the number l in lane l.
    WARPAES_INLINE static Reg lane_numbers() { return zero(); }
    WARPAES_INLINE static Reg add64(Reg a, Reg b) { return _mm_add_epi64(a, b); }
    /// Returns the number l * n in lane l.
    WARPAES_INLINE static Reg lane_multiples(std::uint32_t n) {
        return _mm_mul_epu32(lane_numbers(), _mm_set1_epi32(static_cast<int>(n)));
    }
    WARPAES_INLINE static Reg add32(Reg a, Reg b) { return _mm_add_epi32(a, b); }
    WARPAES_INLINE static Reg band(Reg a, Reg b) { return _mm_and_si128(a, b); }

    /// Replaces byte i of each block by byte pattern[i] of the same block.
    WARPAES_INLINE static Reg shuffle_bytes(Reg v, __m128i pattern) { return _mm_shuffle_epi8(v, pattern); }

    /// load_each and store_each access one block of each of the vector's streams. The next two functions access four
    /// blocks of each stream, with block b in t[b].
    WARPAES_INLINE static Reg load_each(const std::uint8_t* const* p, std::size_t at) {
        return load(p[0] + at, Whole{});
    }
    WARPAES_INLINE static void store_each(std::uint8_t* const* p, std::size_t at, Reg v) {
        store(p[0] + at, v, Whole{});
    }
    WARPAES_INLINE static void load_four(const std::uint8_t* const* p, std::size_t at, Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) t[b] = load(p[0] + at + 16 * b, Whole{});
    }
    WARPAES_INLINE static void store_four(std::uint8_t* const* p, std::size_t at, const Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) store(p[0] + at + 16 * b, t[b], Whole{});
    }

    WARPAES_INLINE static Reg unpack8(Reg a, Reg b) { return _mm_unpacklo_epi8(a, b); }
    WARPAES_INLINE static Reg unpack16(Reg a, Reg b) { return _mm_unpacklo_epi16(a, b); }
    WARPAES_INLINE static Reg unpack32(Reg a, Reg b) { return _mm_unpacklo_epi32(a, b); }
    WARPAES_INLINE static Reg unpack64(Reg a, Reg b) { return _mm_unpacklo_epi64(a, b); }
    /// Shifts each byte of `here` left by `n` bits, and fills the gap with the first bits of the same byte of `next`.
    WARPAES_INLINE static Reg shift_left_bits(Reg here, Reg next, int n) {
        const Reg upper = _mm_and_si128(_mm_slli_epi16(here, n), _mm_set1_epi8(static_cast<char>(0xff << n)));
        const Reg lower = _mm_and_si128(_mm_srli_epi16(next, 8 - n), _mm_set1_epi8(static_cast<char>(0xff >> (8 - n))));
        return _mm_or_si128(upper, lower);
    }
    /// In byte 0 of each lane, moves the most significant bit to bit 7 - `n` and clears the other bits. The other bytes
    /// of the result are undefined.
    WARPAES_INLINE static Reg first_bit(Reg v, int n) {
        return _mm_srli_epi16(_mm_and_si128(v, _mm_set1_epi16(0x80)), n);
    }
};

}  // namespace

}  // namespace warpaes::cpu
