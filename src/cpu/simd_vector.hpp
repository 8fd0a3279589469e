// The interface of the vector types that the kernels use, and the cipher on N of these vectors.
//
// A vector type `V` holds V::bytes / 16 blocks in a V::Reg. Within the cipher, the blocks are a V::State. x86 adds a
// round key at the end of a round, but Arm at the beginning of the next round, so on Arm a state is the pending sum of
// two registers. The input of the cipher is therefore passed as a sum, and the last addition of this sum costs nothing.
// Each instruction set's file defines its own `V` in an unnamed namespace. Every template over `V` is therefore private
// to that file, and no other file can use its instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define WARPAES_INLINE [[gnu::always_inline]] inline
#define WARPAES_UNROLL _Pragma("GCC unroll 16")

#if defined(__x86_64__)
#include "cpu/reg128_x86.hpp"
#else
#include "cpu/reg128_arm.hpp"
#endif

namespace warpaes::cpu {

/// The valid part of a vector in memory: all of it, or its first bytes. The other bytes are read as zero.
struct Whole {};
struct Part {
    std::size_t bytes;
};

/// The valid part of a vector that may be partly or completely past the end of the text. `bytes` is the distance from
/// the beginning of the vector to the end of the text: zero or negative if the vector is completely past the end.
struct Clipped {
    std::ptrdiff_t bytes;
};

/// The state of the cipher on x86, where it is an ordinary vector.
template <class V>
struct PlainState {
    template <class R>
    WARPAES_INLINE static R state(R v) {
        return v;
    }
    template <class R>
    WARPAES_INLINE static R sum(R a, R b) {
        return V::bxor(a, b);
    }
    template <class R>
    WARPAES_INLINE static R sum(R a, R b, R c) {
        return V::bxor3(a, b, c);
    }
    template <class R>
    WARPAES_INLINE static R add(R s, R v) {
        return V::bxor(s, v);
    }
    template <class R>
    WARPAES_INLINE static R value(R s) {
        return s;
    }
};

/// Loads part of a vector through a temporary buffer, for instruction sets without masks.
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

/// Returns the first `n` bytes of a vector, followed by zeros.
template <class V>
WARPAES_INLINE typename V::Reg keep_first(typename V::Reg v, std::size_t n) {
    std::uint8_t mask[2 * V::bytes];
    std::memset(mask, 0xff, V::bytes);
    std::memset(mask + V::bytes, 0, V::bytes);
    return V::band(v, V::load(mask + V::bytes - n, Whole{}));
}

WARPAES_INLINE std::uint64_t load_little_endian(const std::uint8_t* p) {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

WARPAES_INLINE std::uint64_t load_big_endian(const std::uint8_t* p) {
    return __builtin_bswap64(load_little_endian(p));
}

/// Calls `f.template operator()<Rounds>()`, where Rounds is `rounds`.
template <class F>
WARPAES_INLINE void with_rounds(int rounds, const F& f) {
    switch (rounds) {
    case 10:
        return f.template operator()<10>();
    case 12:
        return f.template operator()<12>();
    default:
        return f.template operator()<14>();
    }
}

/// Returns round key `round` in every lane. The key is loaded where it is used: one load per round serves N vectors and
/// leaves the registers to the states.
template <class V>
WARPAES_INLINE typename V::Reg round_key(const std::uint8_t* keys, int round) {
    return V::splat(load128(keys + 16 * round));
}

/// Runs rounds `First` to `Rounds` - 1. The last round is left to the caller. Its round key is added last, so the
/// caller can combine that key with the value to be added to the result.
template <class V, bool Inverse, int First, int Rounds, std::size_t N>
WARPAES_INLINE void middle_rounds(typename V::State (&s)[N], const std::uint8_t* keys) {
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

/// Runs the last round. `key` is the last round key plus the value to be added to the result.
template <class V, bool Inverse>
WARPAES_INLINE typename V::State last_round(typename V::State s, typename V::Reg key) {
    if constexpr (Inverse) {
        return V::aesdeclast(s, key);
    } else {
        return V::aesenclast(s, key);
    }
}

/// Runs rounds `First` to `Rounds`.
template <class V, bool Inverse, int First, int Rounds, std::size_t N>
WARPAES_INLINE void all_rounds(typename V::State (&s)[N], const std::uint8_t* keys) {
    middle_rounds<V, Inverse, First, Rounds>(s, keys);
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = last_round<V, Inverse>(s[i], last);
}

/// Runs rounds `First` to `Rounds`, and adds `addend(i)` to s[i].
template <class V, bool Inverse, int First, int Rounds, std::size_t N, class Addend>
WARPAES_INLINE void all_rounds(typename V::State (&s)[N], const std::uint8_t* keys, const Addend& addend) {
    middle_rounds<V, Inverse, First, Rounds>(s, keys);
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = last_round<V, Inverse>(s[i], V::bxor(last, addend(i)));
}

template <class V, std::size_t N>
WARPAES_INLINE void values(const typename V::State (&s)[N], typename V::Reg (&out)[N]) {
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) out[i] = V::value(s[i]);
}

template <class V, std::size_t N, class Access>
WARPAES_INLINE void store_all(std::uint8_t* output, const typename V::State (&s)[N], Access access) {
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) V::store(output + i * V::bytes, V::value(s[i]), access);
}

/// Runs rounds `First` to `Rounds` on `s`, adds the input and stores the result.
template <class V, int First, int Rounds, std::size_t N, class Access>
WARPAES_INLINE void add_key_stream(typename V::State (&s)[N], const std::uint8_t* keys, const std::uint8_t* input,
                                   std::uint8_t* output, Access access) {
    const auto text = [&](std::size_t i) __attribute__((always_inline)) {
        return V::load(input + i * V::bytes, access);
    };
    all_rounds<V, false, First, Rounds>(s, keys, text);
    store_all<V>(output, s, access);
}

/// Runs `mode` over `length` bytes: N vectors at a time, then fewer, and finally a partial vector. A step reads all of
/// its input before it writes, so in-place processing is possible.
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
