// VAES: four blocks per register. For files compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ; private to each
// of these files.
#pragma once

#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

namespace {

/// Xmm in aesni_vector.hpp documents the less obvious functions.
struct Zmm : PlainState<Zmm> {
    using Reg = __m512i;
    using State = Reg;
    static constexpr std::size_t bytes = 64;
    static constexpr std::size_t unroll = 8;
    static constexpr bool has_masks = true;
    static constexpr bool folds = false;
    static constexpr std::size_t ctr_vectors = 12;
    static constexpr std::size_t registers = 32;

    WARPAES_INLINE static Reg load(const std::uint8_t* p, Whole) { return _mm512_loadu_si512(p); }
    WARPAES_INLINE static Reg load(const std::uint8_t* p, Part part) {
        return _mm512_maskz_loadu_epi8(mask(part.bytes), p);
    }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Whole) { _mm512_storeu_si512(p, v); }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Part part) {
        _mm512_mask_storeu_epi8(p, mask(part.bytes), v);
    }

    WARPAES_INLINE static Reg load(const std::uint8_t* p, Clipped part) {
        return _mm512_maskz_loadu_epi8(mask(part), p);
    }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Clipped part) {
        _mm512_mask_storeu_epi8(p, mask(part), v);
    }

    WARPAES_INLINE static void stream(std::uint8_t* p, Reg v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v); }

    WARPAES_INLINE static Reg join_index(std::size_t blocks) {
        const auto words = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
        return _mm512_add_epi64(words, _mm512_set1_epi64(static_cast<long long>(8 - 2 * blocks)));
    }
    WARPAES_INLINE static Reg joined(Reg before, Reg v, Reg index) {
        return _mm512_permutex2var_epi64(before, index, v);
    }

    WARPAES_INLINE static Reg splat(__m128i block) { return _mm512_broadcast_i32x4(block); }
    WARPAES_INLINE static __m128i first_block(Reg v) { return _mm512_castsi512_si128(v); }
    WARPAES_INLINE static Reg shift_in(Reg before, Reg v) { return _mm512_alignr_epi64(v, before, 6); }
    WARPAES_INLINE static Reg bxor(Reg a, Reg b) { return _mm512_xor_si512(a, b); }

    WARPAES_INLINE static State aesenc(State s, Reg k) { return _mm512_aesenc_epi128(s, k); }
    WARPAES_INLINE static State aesenclast(State s, Reg k) { return _mm512_aesenclast_epi128(s, k); }
    WARPAES_INLINE static State aesdec(State s, Reg k) { return _mm512_aesdec_epi128(s, k); }
    WARPAES_INLINE static State aesdeclast(State s, Reg k) { return _mm512_aesdeclast_epi128(s, k); }

    WARPAES_INLINE static Reg swap_bytes(Reg v) {
        return _mm512_shuffle_epi8(v, splat(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    }

    template <int Bytes>
    WARPAES_INLINE static Reg shift_left_bytes(Reg v) {
        return _mm512_bslli_epi128(v, Bytes);
    }
    template <int Bytes>
    WARPAES_INLINE static Reg shift_right_bytes(Reg v) {
        return _mm512_bsrli_epi128(v, Bytes);
    }
    template <int Halves>
    WARPAES_INLINE static Reg multiply(Reg a, Reg b) {
        return _mm512_clmulepi64_epi128(a, b, Halves);
    }
    WARPAES_INLINE static Reg powers_of_two(std::size_t first) {
        const auto power = [first](unsigned lane) {
            return static_cast<long long>(std::uint64_t{1} << (first + lane));
        };
        return _mm512_set_epi64(0, power(3), 0, power(2), 0, power(1), 0, power(0));
    }

    WARPAES_INLINE static Reg zero() { return _mm512_setzero_si512(); }
    WARPAES_INLINE static Reg bxor3(Reg a, Reg b, Reg c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
    WARPAES_INLINE static Reg from_block(__m128i block) { return _mm512_zextsi128_si512(block); }
    WARPAES_INLINE static __m128i sum_of_blocks(Reg v) {
        const __m256i pairs = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
        return _mm_xor_si128(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    }
    WARPAES_INLINE static Reg swap_halves(Reg v) { return _mm512_shuffle_epi32(v, _MM_PERM_BADC); }
    WARPAES_INLINE static Reg first_bytes(Reg v, std::size_t n) { return _mm512_maskz_mov_epi8(mask(n), v); }
    WARPAES_INLINE static Reg clip(Reg v, Clipped part) { return _mm512_maskz_mov_epi8(mask(part), v); }
    WARPAES_INLINE static Reg lane_numbers() { return _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0); }
    WARPAES_INLINE static Reg add64(Reg a, Reg b) { return _mm512_add_epi64(a, b); }
    WARPAES_INLINE static Reg lane_multiples(std::uint32_t n) {
        return _mm512_mul_epu32(lane_numbers(), _mm512_set1_epi32(static_cast<int>(n)));
    }
    WARPAES_INLINE static Reg add32(Reg a, Reg b) { return _mm512_add_epi32(a, b); }

    WARPAES_INLINE static Reg shuffle_bytes(Reg v, __m128i pattern) { return _mm512_shuffle_epi8(v, splat(pattern)); }

    WARPAES_INLINE static Reg load_each(const std::uint8_t* const* p, std::size_t at) {
        const auto block = [&](std::size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[i] + at)); };
        const auto pair = [&](std::size_t i) {
            return _mm256_inserti128_si256(_mm256_castsi128_si256(block(i)), block(i + 1), 1);
        };
        return _mm512_inserti64x4(_mm512_castsi256_si512(pair(0)), pair(2), 1);
    }
    WARPAES_INLINE static void store_each(std::uint8_t* const* p, std::size_t at, Reg v) {
        const auto to = [&](std::size_t i) { return reinterpret_cast<__m128i*>(p[i] + at); };
        _mm_storeu_si128(to(0), _mm512_castsi512_si128(v));
        _mm_storeu_si128(to(1), _mm512_extracti32x4_epi32(v, 1));
        _mm_storeu_si128(to(2), _mm512_extracti32x4_epi32(v, 2));
        _mm_storeu_si128(to(3), _mm512_extracti32x4_epi32(v, 3));
    }
    WARPAES_INLINE static void load_four(const std::uint8_t* const* p, std::size_t at, Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t i = 0; i < 4; ++i) t[i] = load(p[i] + at, Whole{});
        transpose(t);
    }
    WARPAES_INLINE static void store_four(std::uint8_t* const* p, std::size_t at, const Reg (&t)[4]) {
        Reg rows[4] = {t[0], t[1], t[2], t[3]};
        transpose(rows);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < 4; ++i) store(p[i] + at, rows[i], Whole{});
    }

    WARPAES_INLINE static Reg unpack8(Reg a, Reg b) { return _mm512_unpacklo_epi8(a, b); }
    WARPAES_INLINE static Reg unpack16(Reg a, Reg b) { return _mm512_unpacklo_epi16(a, b); }
    WARPAES_INLINE static Reg unpack32(Reg a, Reg b) { return _mm512_unpacklo_epi32(a, b); }
    WARPAES_INLINE static Reg unpack64(Reg a, Reg b) { return _mm512_unpacklo_epi64(a, b); }
    WARPAES_INLINE static Reg shift_left_bits(Reg here, Reg next, int n) {
        const Reg upper = _mm512_slli_epi16(here, static_cast<unsigned>(n));
        const Reg lower = _mm512_srli_epi16(next, static_cast<unsigned>(8 - n));
        constexpr int select = 0xca;  // a ? b : c
        return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(0xff << n)), upper, lower, select);
    }
    WARPAES_INLINE static Reg first_bit(Reg v, int n) {
        return _mm512_srli_epi16(_mm512_and_si512(v, _mm512_set1_epi16(0x80)), static_cast<unsigned>(n));
    }

private:
    /// Transposes a 4 x 4 matrix of blocks.
    WARPAES_INLINE static void transpose(Reg (&t)[4]) {
        const Reg a = _mm512_shuffle_i32x4(t[0], t[1], 0x88), b = _mm512_shuffle_i32x4(t[0], t[1], 0xdd);
        const Reg c = _mm512_shuffle_i32x4(t[2], t[3], 0x88), d = _mm512_shuffle_i32x4(t[2], t[3], 0xdd);
        t[0] = _mm512_shuffle_i32x4(a, c, 0x88);
        t[1] = _mm512_shuffle_i32x4(b, d, 0x88);
        t[2] = _mm512_shuffle_i32x4(a, c, 0xdd);
        t[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
    /// `bytes` is 1 to 64.
    WARPAES_INLINE static __mmask64 mask(std::size_t bytes) { return ~std::uint64_t{0} >> (64 - bytes); }
    WARPAES_INLINE static __mmask64 mask(Clipped part) {
        if (part.bytes <= 0) return 0;
        return mask(part.bytes < 64 ? static_cast<std::size_t>(part.bytes) : 64);
    }
};

/// For CPUs on which a carry-less product takes two cycles.
struct FoldingZmm : Zmm {
    static constexpr bool folds = true;
};

}  // namespace

}  // namespace warpaes::cpu
