// Key expansion (FIPS 197, 5.2) of several keys at once, one per lane. SubWord is computed as the last round of the
// cipher on a block whose columns all equal the word, because ShiftRows then has no effect.
#pragma once

#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// Returns SubWord of word `Word` of each block, in all four columns, plus `constant`; RotWord is applied first if
/// `Rotate` is set.
template <class V, int Word, bool Rotate>
WARPAES_INLINE typename V::Reg substituted(typename V::Reg v, std::uint8_t constant) {
    constexpr auto byte = [](int i) { return 4 * Word + (i + (Rotate ? 1 : 0)) % 4; };
    const Reg128 column = repeat128(byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24);
    return V::value(V::aesenclast(V::state(V::shuffle_bytes(v, column)), V::splat(repeat128(constant))));
}

/// Returns the sum of each word and all words before it.
template <class V>
WARPAES_INLINE typename V::Reg running_sum(typename V::Reg v) {
    v = V::bxor(v, V::template shift_left_bytes<4>(v));
    return V::bxor(v, V::template shift_left_bytes<8>(v));
}

template <class V>
WARPAES_INLINE typename V::Reg last_word_everywhere(typename V::Reg v) {
    return V::shuffle_bytes(v, repeat128(0x0f0e0d0c));
}

inline constexpr std::uint8_t round_constants[10] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};

template <class V>
WARPAES_INLINE void expand_vector(std::size_t key_bytes, const std::uint8_t* const* keys, std::uint8_t* const* out) {
    typename V::Reg a = V::load_each(keys, 0);
    V::store_each(out, 0, a);
    if (key_bytes == 16) {
        for (std::size_t r = 1; r <= 10; ++r) {
            a = V::bxor(running_sum<V>(a), substituted<V, 3, true>(a, round_constants[r - 1]));
            V::store_each(out, 16 * r, a);
        }
    } else if (key_bytes == 24) {
        // Words 4 and 5 are in the lower half of `b`. The upper half, which is stored with them, is overwritten by the
        // next words.
        typename V::Reg b = V::template shift_right_bytes<8>(V::load_each(keys, 8));
        for (std::size_t i = 0; i < 8; ++i) {
            V::store_each(out, 24 * i + 16, b);
            a = V::bxor(running_sum<V>(a), substituted<V, 1, true>(b, round_constants[i]));
            b = V::bxor3(last_word_everywhere<V>(a), b, V::template shift_left_bytes<4>(b));
            V::store_each(out, 24 * (i + 1), a);
        }
    } else {
        typename V::Reg b = V::load_each(keys, 16);
        V::store_each(out, 16, b);
        for (std::size_t r = 2; r <= 14; r += 2) {
            a = V::bxor(running_sum<V>(a), substituted<V, 3, true>(b, round_constants[r / 2 - 1]));
            V::store_each(out, 16 * r, a);
            if (r == 14) break;
            b = V::bxor(running_sum<V>(b), substituted<V, 3, false>(a, 0));
            V::store_each(out, 16 * (r + 1), b);
        }
    }
}

/// Calls `work(in, out)` for `count` keys, with one pointer per lane. Surplus lanes repeat the last key.
template <class V, class Work>
WARPAES_INLINE void each_lane(std::size_t count, const std::uint8_t* in, std::size_t in_stride, std::uint8_t* out,
                              std::size_t out_stride, const Work& work) {
    constexpr std::size_t lanes = V::bytes / 16;
    for (std::size_t i = 0; i < count; i += lanes) {
        const std::uint8_t* from[lanes];
        std::uint8_t* to[lanes];
        for (std::size_t l = 0; l < lanes; ++l) {
            const std::size_t k = i + l < count ? i + l : count - 1;
            from[l] = in + k * in_stride;
            to[l] = out + k * out_stride;
        }
        work(from, to);
    }
}

template <class V>
void expand_keys(const SimdKeys& run) {
    each_lane<V>(
        run.count, run.keys, run.stride, run.round_keys, SimdKeys::bytes_each,
        [&](const std::uint8_t* const* keys, std::uint8_t* const* out)
            __attribute__((always_inline)) { expand_vector<V>(run.key_bytes, keys, out); });
}

/// Computes the round keys of the equivalent inverse cipher (FIPS 197, 5.3.5). The template parameter keeps the
/// function private to the files that are compiled for the instruction.
template <class V>
void invert_keys(const std::uint8_t* encrypt, int rounds, std::uint8_t* decrypt) {
    const auto from = [&](int r) { return load128(encrypt + 16 * r); };
    const auto to = [&](int r, Reg128 v) { store128(decrypt + 16 * r, v); };
    to(0, from(rounds));
    for (int r = 1; r < rounds; ++r) to(r, inverse_mix_columns(from(rounds - r)));
    to(rounds, from(0));
}

}  // namespace warpaes::cpu
