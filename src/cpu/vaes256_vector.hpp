// VAES: two blocks per register. For files compiled for AVX2, AES, VAES and VPCLMULQDQ; private to each of these files.
#pragma once

#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

namespace {

/// Xmm in aesni_vector.hpp documents the less obvious functions.
struct Ymm : PlainState<Ymm> {
    using Reg = __m256i;
    using State = Reg;
    static constexpr std::size_t bytes = 32;
    static constexpr std::size_t unroll = 8;
    static constexpr bool has_masks = false;
    static constexpr bool folds = false;
    static constexpr std::size_t ctr_vectors = 8;
    static constexpr std::size_t registers = 16;

    WARPAES_INLINE static Reg load(const std::uint8_t* p, Whole) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    WARPAES_INLINE static Reg load(const std::uint8_t* p, Part part) { return load_part<Ymm>(p, part.bytes); }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Whole) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
    }
    WARPAES_INLINE static void store(std::uint8_t* p, Reg v, Part part) { store_part<Ymm>(p, v, part.bytes); }

    WARPAES_INLINE static void stream(std::uint8_t* p, Reg v) { _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v); }

    WARPAES_INLINE static Reg splat(__m128i block) { return _mm256_broadcastsi128_si256(block); }
    WARPAES_INLINE static __m128i first_block(Reg v) { return _mm256_castsi256_si128(v); }
    WARPAES_INLINE static Reg shift_in(Reg before, Reg v) { return _mm256_permute2x128_si256(before, v, 0x21); }
    /// A mask suffices, because there is only one other position.
    WARPAES_INLINE static Reg join_index(std::size_t blocks) {
        return _mm256_set1_epi64x(-static_cast<long long>(blocks));
    }
    WARPAES_INLINE static Reg joined(Reg before, Reg v, Reg index) {
        return _mm256_blendv_epi8(v, shift_in(before, v), index);
    }
    WARPAES_INLINE static Reg bxor(Reg a, Reg b) { return _mm256_xor_si256(a, b); }

    WARPAES_INLINE static State aesenc(State s, Reg k) { return _mm256_aesenc_epi128(s, k); }
    WARPAES_INLINE static State aesenclast(State s, Reg k) { return _mm256_aesenclast_epi128(s, k); }
    WARPAES_INLINE static State aesdec(State s, Reg k) { return _mm256_aesdec_epi128(s, k); }
    WARPAES_INLINE static State aesdeclast(State s, Reg k) { return _mm256_aesdeclast_epi128(s, k); }

    WARPAES_INLINE static Reg swap_bytes(Reg v) {
        return _mm256_shuffle_epi8(v, splat(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    }

    template <int Bytes>
    WARPAES_INLINE static Reg shift_left_bytes(Reg v) {
        return _mm256_slli_si256(v, Bytes);
    }
    template <int Bytes>
    WARPAES_INLINE static Reg shift_right_bytes(Reg v) {
        return _mm256_srli_si256(v, Bytes);
    }
    template <int Halves>
    WARPAES_INLINE static Reg multiply(Reg a, Reg b) {
        return _mm256_clmulepi64_epi128(a, b, Halves);
    }
    WARPAES_INLINE static Reg powers_of_two(std::size_t first) {
        const auto power = [first](unsigned lane) {
            return static_cast<long long>(std::uint64_t{1} << (first + lane));
        };
        return _mm256_set_epi64x(0, power(1), 0, power(0));
    }

    WARPAES_INLINE static Reg zero() { return _mm256_setzero_si256(); }
    WARPAES_INLINE static Reg bxor3(Reg a, Reg b, Reg c) { return bxor(a, bxor(b, c)); }
    WARPAES_INLINE static Reg from_block(__m128i block) { return _mm256_zextsi128_si256(block); }
    WARPAES_INLINE static __m128i sum_of_blocks(Reg v) {
        return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
    WARPAES_INLINE static Reg swap_halves(Reg v) { return _mm256_shuffle_epi32(v, 0x4e); }
    WARPAES_INLINE static Reg first_bytes(Reg v, std::size_t n) { return keep_first<Ymm>(v, n); }
    WARPAES_INLINE static Reg lane_numbers() { return _mm256_set_epi64x(0, 1, 0, 0); }
    WARPAES_INLINE static Reg add64(Reg a, Reg b) { return _mm256_add_epi64(a, b); }
    WARPAES_INLINE static Reg lane_multiples(std::uint32_t n) {
        return _mm256_mul_epu32(lane_numbers(), _mm256_set1_epi32(static_cast<int>(n)));
    }
    WARPAES_INLINE static Reg add32(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
    WARPAES_INLINE static Reg band(Reg a, Reg b) { return _mm256_and_si256(a, b); }

    WARPAES_INLINE static Reg shuffle_bytes(Reg v, __m128i pattern) { return _mm256_shuffle_epi8(v, splat(pattern)); }

    WARPAES_INLINE static Reg load_each(const std::uint8_t* const* p, std::size_t at) {
        const auto block = [&](std::size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[i] + at)); };
        return _mm256_inserti128_si256(_mm256_castsi128_si256(block(0)), block(1), 1);
    }
    WARPAES_INLINE static void store_each(std::uint8_t* const* p, std::size_t at, Reg v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p[0] + at), _mm256_castsi256_si128(v));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p[1] + at), _mm256_extracti128_si256(v, 1));
    }
    WARPAES_INLINE static void load_four(const std::uint8_t* const* p, std::size_t at, Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t h = 0; h < 2; ++h) {
            const Reg a = load(p[0] + at + 32 * h, Whole{}), b = load(p[1] + at + 32 * h, Whole{});
            t[2 * h] = _mm256_permute2x128_si256(a, b, 0x20);
            t[2 * h + 1] = _mm256_permute2x128_si256(a, b, 0x31);
        }
    }
    WARPAES_INLINE static void store_four(std::uint8_t* const* p, std::size_t at, const Reg (&t)[4]) {
        WARPAES_UNROLL
        for (std::size_t h = 0; h < 2; ++h) {
            store(p[0] + at + 32 * h, _mm256_permute2x128_si256(t[2 * h], t[2 * h + 1], 0x20), Whole{});
            store(p[1] + at + 32 * h, _mm256_permute2x128_si256(t[2 * h], t[2 * h + 1], 0x31), Whole{});
        }
    }

    WARPAES_INLINE static Reg unpack8(Reg a, Reg b) { return _mm256_unpacklo_epi8(a, b); }
    WARPAES_INLINE static Reg unpack16(Reg a, Reg b) { return _mm256_unpacklo_epi16(a, b); }
    WARPAES_INLINE static Reg unpack32(Reg a, Reg b) { return _mm256_unpacklo_epi32(a, b); }
    WARPAES_INLINE static Reg unpack64(Reg a, Reg b) { return _mm256_unpacklo_epi64(a, b); }
    WARPAES_INLINE static Reg shift_left_bits(Reg here, Reg next, int n) {
        const Reg upper = _mm256_and_si256(_mm256_slli_epi16(here, n), _mm256_set1_epi8(static_cast<char>(0xff << n)));
        const Reg lower =
            _mm256_and_si256(_mm256_srli_epi16(next, 8 - n), _mm256_set1_epi8(static_cast<char>(0xff >> (8 - n))));
        return _mm256_or_si256(upper, lower);
    }
    WARPAES_INLINE static Reg first_bit(Reg v, int n) {
        return _mm256_srli_epi16(_mm256_and_si256(v, _mm256_set1_epi16(0x80)), n);
    }
};

}  // namespace

}  // namespace warpaes::cpu
