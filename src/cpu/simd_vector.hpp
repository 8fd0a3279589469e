// What a vector type must offer to the kernels, and the cipher itself on N such vectors.
//
// A vector type `V` holds V::lanes blocks in a V::Reg. Each instruction set's file defines its own `V` in an unnamed
// namespace, which makes every template over it private to that file: no other file can end up with its instructions.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define WARPAES_INLINE [[gnu::always_inline]] inline
#define WARPAES_UNROLL _Pragma("GCC unroll 16")

namespace warpaes::cpu {

/// How much of a vector in memory is there: all of it, or its first bytes. What is missing reads as zero.
struct Whole {};
struct Part {
    std::size_t bytes;
};

/// Part of a vector by way of a whole one, for instruction sets without masks.
template <class V>
WARPAES_INLINE typename V::Reg load_part(const std::uint8_t* p, std::size_t bytes) {
    std::uint8_t whole[V::bytes] = {};
    std::memcpy(whole, p, bytes);
    return V::load(whole, Whole{});
}

template <class V>
WARPAES_INLINE void store_part(std::uint8_t* p, typename V::Reg v, std::size_t bytes) {
    std::uint8_t whole[V::bytes];
    V::store(whole, v, Whole{});
    std::memcpy(p, whole, bytes);
}

/// The first `n` bytes of a vector, zeros behind them.
template <class V>
WARPAES_INLINE typename V::Reg keep_first(typename V::Reg v, std::size_t n) {
    std::uint8_t mask[2 * V::bytes];
    std::memset(mask, 0xff, V::bytes);
    std::memset(mask + V::bytes, 0, V::bytes);
    return V::band(v, V::load(mask + V::bytes - n, Whole{}));
}

/// Round key `round` in every lane. Loaded where it is used: one load a round serves N vectors, and the registers are
/// left to the states.
template <class V>
WARPAES_INLINE typename V::Reg round_key(const std::uint8_t* keys, int round) {
    return V::splat(_mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + 16 * round)));
}

/// Rounds `First` to `Rounds` - 1. The last round is the caller's: it can put what is to be added to the result into
/// the round key, since the key is the last thing to be added.
template <class V, bool Inverse, int First, int Rounds, std::size_t N>
WARPAES_INLINE void middle_rounds(typename V::Reg (&s)[N], const std::uint8_t* keys) {
    WARPAES_UNROLL
    for (int r = First; r < Rounds; ++r) {
        const auto k = round_key<V>(keys, r);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            if constexpr (Inverse) {
                s[i] = V::aesdec(s[i], k);
            } else {
                s[i] = V::aesenc(s[i], k);
            }
        }
    }
}

template <class V, std::size_t N, class Access>
WARPAES_INLINE void store_all(std::uint8_t* output, const typename V::Reg (&s)[N], Access access) {
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) V::store(output + i * V::bytes, s[i], access);
}

/// Takes `s` through rounds `First` … `Rounds` and stores its sum with the input: the addition is folded into the last
/// round key.
template <class V, int First, int Rounds, std::size_t N, class Access>
WARPAES_INLINE void add_key_stream(typename V::Reg (&s)[N], const std::uint8_t* keys, const std::uint8_t* input,
                                   std::uint8_t* output, Access access) {
    middle_rounds<V, false, First, Rounds>(s, keys);
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        s[i] = V::aesenclast(s[i], V::bxor(last, V::load(input + i * V::bytes, access)));
    }
    store_all<V>(output, s, access);
}

/// Takes `mode` through `length` bytes: N vectors at a time, then fewer, at last the part of a vector that is left.
/// A step reads all of its input before it writes, so input and output may be the same.
template <class V, std::size_t N, class ModeKernel>
WARPAES_INLINE void walk(ModeKernel& mode, const std::uint8_t* input, std::uint8_t* output, std::size_t length) {
    constexpr std::size_t step_bytes = N * V::bytes;
    for (; length >= step_bytes; length -= step_bytes) {
        mode.template step<N>(input, output, Whole{});
        input += step_bytes;
        output += step_bytes;
    }
    if constexpr (N > 1) {
        walk<V, N / 2>(mode, input, output, length);
    } else if (length != 0) {
        mode.template step<1>(input, output, Part{length});
    }
}

}  // namespace warpaes::cpu
