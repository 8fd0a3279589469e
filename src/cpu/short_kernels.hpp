// Single short messages of CTR and GCM: functions of their own, which use little of the stack, for all that they use is
// overwritten afterwards.
#pragma once

#include <type_traits>

#include "cpu/counter_cache.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// What a kernel's callees take: memcpy, and what notes it.
inline constexpr std::size_t leaf_stack = 128;

/// The last N vectors of CTR, of which the last has `part` bytes.
template <class V, int Rounds, std::size_t N>
WARPAES_INLINE void ctr_end(const std::uint8_t* keys, PlainGcmCounter<V>& counter, const std::uint8_t* input,
                            std::uint8_t* output, std::size_t part) {
    typename V::Reg s[N];
    counter.next(s);
    middle_rounds<V, false, 1, Rounds>(s, keys);
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i + 1 < N; ++i) {
        s[i] = V::aesenclast(s[i], V::bxor(last, V::load(input + i * V::bytes, Whole{})));
    }
    constexpr std::size_t at = (N - 1) * V::bytes;
    s[N - 1] = V::aesenclast(s[N - 1], V::bxor(last, V::load(input + at, Part{part})));
    WARPAES_UNROLL
    for (std::size_t i = 0; i + 1 < N; ++i) V::store(output + i * V::bytes, s[i], Whole{});
    V::store(output + at, s[N - 1], Part{part});
}

/// CTR within the counter's last 32 bits.
template <class V, int Rounds>
struct PlainCtr {
    const std::uint8_t* keys;
    PlainGcmCounter<V>& counter;

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::Reg s[N];
        counter.next(s);
        add_key_stream<V, 1, Rounds>(s, keys, input, output, access);
    }
};

/// 1 to V::unroll vectors, all at once.
template <class V, int Rounds>
WARPAES_INLINE void ctr_rest(const std::uint8_t* keys, PlainGcmCounter<V>& counter, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t bytes) {
    static_assert(V::unroll == 8);
    const std::size_t before = (bytes - 1) / V::bytes, part = bytes - before * V::bytes;
    switch (before) {
    case 0:
        return ctr_end<V, Rounds, 1>(keys, counter, input, output, part);
    case 1:
        return ctr_end<V, Rounds, 2>(keys, counter, input, output, part);
    case 2:
        return ctr_end<V, Rounds, 3>(keys, counter, input, output, part);
    case 3:
        return ctr_end<V, Rounds, 4>(keys, counter, input, output, part);
    case 4:
        return ctr_end<V, Rounds, 5>(keys, counter, input, output, part);
    case 5:
        return ctr_end<V, Rounds, 6>(keys, counter, input, output, part);
    case 6:
        return ctr_end<V, Rounds, 7>(keys, counter, input, output, part);
    default:
        return ctr_end<V, Rounds, 8>(keys, counter, input, output, part);
    }
}

template <class V, int Rounds>
[[gnu::noinline]] bool short_ctr(const ShortMessage& m) {
    const std::uint8_t *const keys = m.round_keys, *input = m.input;
    std::uint8_t* output = m.output;
    std::size_t left = m.length;
    // What does not end beyond the counter's last 32 bits counts with these alone.
    const auto low = static_cast<std::uint32_t>(load_big_endian(m.iv + 8));
    if (left >= cached_counter_bytes || left / 16 >= ~low) {
        ctr<V, Rounds>(keys, m.iv, input, output, left);
        return true;
    }
    if constexpr (!V::has_masks) note_stack_depth(leaf_stack);
    PlainGcmCounter<V> counter(keys, swap_block(_mm_loadu_si128(reinterpret_cast<const __m128i*>(m.iv))));
    constexpr std::size_t step = V::unroll * V::bytes;
    for (; left > step; left -= step, input += step, output += step) {
        typename V::Reg s[V::unroll];
        counter.next(s);
        add_key_stream<V, 1, Rounds>(s, keys, input, output, Whole{});
    }
    if constexpr (V::has_masks) {
        if (left != 0) ctr_rest<V, Rounds>(keys, counter, input, output, left);
    } else {
        PlainCtr<V, Rounds> mode{keys, counter};
        walk<V, V::unroll>(mode, input, output, left);
    }
    return true;
}

/// What a message of GCM is worth: a step of V::unroll vectors, and the key's table for round one.
enum class GcmMeans { none, steps, table };

/// `state` after all rounds but the addition of the first round key.
template <class V, int Rounds>
WARPAES_INLINE void encrypt_one(typename V::Reg& state, const std::uint8_t* keys) {
    typename V::Reg s[1] = {state};
    middle_rounds<V, false, 1, Rounds>(s, keys);
    state = V::aesenclast(s[0], round_key<V>(keys, Rounds));
}

/// The first N vectors, or a part of one, with one block more: `mask` is taken through all rounds beside them.
template <class V, int Rounds, bool Encrypt, std::size_t N, class Access>
WARPAES_INLINE void short_gcm_begin(const ShortMessage& m, const std::uint8_t* keys, PlainGcmCounter<V>& counter,
                                    Ghash<V>& hash, typename V::Reg& mask, Access access, std::size_t blocks) {
    typename V::Reg s[N], c[N];
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) c[i] = V::load(m.input + i * V::bytes, access);
    counter.next(s);
    WARPAES_UNROLL
    for (int r = 1; r < Rounds; ++r) {
        const auto k = round_key<V>(keys, r);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenc(s[i], k);
        mask = V::aesenc(mask, k);
    }
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenclast(s[i], V::bxor(last, c[i]));
    mask = V::aesenclast(mask, last);
    store_all<V>(m.output, s, access);
    if constexpr (!Encrypt) {
        hash.add(c, blocks);
    } else {
        if constexpr (std::is_same_v<Access, Part>) s[0] = V::first_bytes(s[0], access.bytes);
        hash.add(s, blocks);
    }
}

/// Less than V::unroll vectors.
template <class V, int Rounds, bool Encrypt>
WARPAES_INLINE void short_gcm_text(const ShortMessage& m, const std::uint8_t* keys, __m128i first, Ghash<V>& hash,
                                   typename V::Reg& mask) {
    static_assert(V::unroll == 8);
    PlainGcmCounter<V> counter(keys, first);
    constexpr std::size_t bytes = V::bytes, lanes = bytes / 16;
    if (m.length >= 4 * bytes) {
        short_gcm_begin<V, Rounds, Encrypt, 4>(m, keys, counter, hash, mask, Whole{}, 4 * lanes);
        gcm_rest<V, Rounds, Encrypt, 2>(keys, counter, hash, m.input + 4 * bytes, m.output + 4 * bytes,
                                        m.length - 4 * bytes);
    } else if (m.length >= 2 * bytes) {
        short_gcm_begin<V, Rounds, Encrypt, 2>(m, keys, counter, hash, mask, Whole{}, 2 * lanes);
        gcm_rest<V, Rounds, Encrypt, 1>(keys, counter, hash, m.input + 2 * bytes, m.output + 2 * bytes,
                                        m.length - 2 * bytes);
    } else if (m.length >= bytes) {
        short_gcm_begin<V, Rounds, Encrypt, 1>(m, keys, counter, hash, mask, Whole{}, lanes);
        gcm_rest<V, Rounds, Encrypt, 1>(keys, counter, hash, m.input + bytes, m.output + bytes, m.length - bytes);
    } else if (m.length != 0) {
        short_gcm_begin<V, Rounds, Encrypt, 1>(m, keys, counter, hash, mask, Part{m.length}, (m.length + 15) / 16);
    } else {
        encrypt_one<V, Rounds>(mask, keys);
    }
}

template <class V, int Rounds, bool Encrypt, GcmMeans Means>
[[gnu::noinline]] void short_gcm_with(const ShortMessage& m, const SimdShortGcm& with, std::uint8_t* tag) {
    note_stack_depth(leaf_stack);
    const std::uint8_t* const keys = m.round_keys;
    // With its bytes reversed, so that the counter is the lowest of four numbers.
    std::uint64_t upper;
    std::uint32_t lower;
    std::memcpy(&upper, m.iv, 8);
    std::memcpy(&lower, m.iv + 8, 4);
    const __m128i j0 = _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(upper)),
                                      static_cast<long long>(std::uint64_t{__builtin_bswap32(lower)} << 32 | 1));
    const __m128i first = _mm_add_epi32(j0, _mm_set_epi32(0, 0, 0, 1));
    typename V::Reg mask = V::bxor(V::splat(swap_block(j0)), round_key<V>(keys, 0));

    constexpr std::size_t together = 64;
    const std::size_t blocks = (m.aad_length + 15) / 16 + (m.length + 15) / 16 + 1;
    Ghash<V> hash(with.powers, _mm_setzero_si128(), blocks, together);
    if (blocks <= together) {
        hash.template add<1>(m.aad, m.aad_length);
    } else {
        hash_before_text(hash, together, m.aad, m.aad_length);
    }
    if constexpr (Means == GcmMeans::none) {
        short_gcm_text<V, Rounds, Encrypt>(m, keys, first, hash, mask);
    } else {
        encrypt_one<V, Rounds>(mask, keys);
        if constexpr (Means == GcmMeans::table) {
            GcmCounter<V> counter(keys, with.first_round, first);
            gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, m.input, m.output, m.length);
        } else {
            PlainGcmCounter<V> counter(keys, first);
            gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, m.input, m.output, m.length);
        }
    }
    hash.add_lengths(8 * m.aad_length, 8 * m.length);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(tag), _mm_xor_si128(hash.digest(), V::first_block(mask)));
}

template <class V, int Rounds, bool Encrypt>
void short_gcm(const ShortMessage& m, const SimdShortGcm& with, std::uint8_t* tag) {
    if (with.first_round != nullptr) return short_gcm_with<V, Rounds, Encrypt, GcmMeans::table>(m, with, tag);
    if (m.length >= V::unroll * V::bytes) return short_gcm_with<V, Rounds, Encrypt, GcmMeans::steps>(m, with, tag);
    short_gcm_with<V, Rounds, Encrypt, GcmMeans::none>(m, with, tag);
}

template <class V>
constexpr SimdShortKernels make_short_kernels() {
    return {{short_ctr<V, 10>, short_ctr<V, 12>, short_ctr<V, 14>},
            {short_gcm<V, 10, true>, short_gcm<V, 12, true>, short_gcm<V, 14, true>},
            {short_gcm<V, 10, false>, short_gcm<V, 12, false>, short_gcm<V, 14, false>}};
}

}  // namespace warpaes::cpu
