// Single short CTR and GCM messages. These functions use little stack, because all of the used stack is overwritten
// afterwards.
#pragma once

#include <type_traits>

#include "cpu/counter_cache.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// The stack used by a kernel's callees: memcpy, and note_stack_depth itself.
inline constexpr std::size_t leaf_stack = 128;

WARPAES_INLINE Reg128 reversed_counter(const std::uint8_t* counter) {
    return swap_block(load128(counter));
}

/// Counter blocks after round one, from the key's table (aes/first_round.hpp).
template <class V>
class FirstRoundCounter {
public:
    static constexpr int first_round = 2;

    WARPAES_INLINE FirstRoundCounter(const std::uint8_t* keys, const std::uint8_t* table, Reg128 first)
        : keys_(keys), table_(table), next_(without_first_byte(first)) {}

    /// Moves to counter `from` of the next 256 counters, which differ only in the last byte.
    WARPAES_INLINE void select(std::size_t from) {
        typename V::State s[1] = {V::sum(V::splat(swap_block(next_)), round_key<V>(keys_, 0))};
        middle_rounds<V, false, 1, 2>(s, keys_);
        constant_ = V::bxor(V::value(s[0]), V::splat(load_aligned128(table_)));
        next_ = add_words(next_, word128(256));
        entry_ = table_ + 16 * from;
    }

    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(constant_, V::load(entry_ + i * V::bytes, Whole{}));
        entry_ += N * V::bytes;
    }

private:
    const std::uint8_t* keys_;
    const std::uint8_t* table_;
    const std::uint8_t* entry_ = nullptr;
    Reg128 next_;  ///< the next counter block, with its bytes reversed
    typename V::Reg constant_;
};

template <class V, int Rounds>
void table_ctr(const ShortMessage& m, const std::uint8_t* table) {
    const std::uint8_t *const keys = m.round_keys, *input = m.input;
    std::uint8_t* output = m.output;
    FirstRoundCounter<V> counter(keys, table, reversed_counter(m.iv));
    std::size_t at = m.iv[15];
    for (std::size_t left = m.length; left != 0; at = 0) {
        const std::size_t group = 16 * (256 - at), n = left < group ? left : group;
        counter.select(at);
        ctr_walk<V, Rounds>(keys, counter, input, output, n);
        input += n;
        output += n;
        left -= n;
    }
}

/// CTR without a table, for messages that are too short for a table to be worthwhile.
template <class V, int Rounds>
WARPAES_INLINE void plain_ctr(const ShortMessage& m) {
    PlainCounter<V> counter(m.round_keys, reversed_counter(m.iv));
    ctr_walk<V, Rounds>(m.round_keys, counter, m.input, m.output, m.length);
}

template <class V, int Rounds>
[[gnu::noinline]] bool longer_ctr(const ShortMessage& m) {
    note_stack_depth(leaf_stack);
    const std::uint8_t* table = nullptr;
    if (m.length >= cached_counter_bytes_with_table || !stays_below_carry(m.iv, m.length)) {
        ctr<V, Rounds>(m.round_keys, m.iv, m.input, m.output, m.length);
    } else if (m.length >= first_round_ctr_bytes && (table = first_round_if_worth(m)) != nullptr) {
        table_ctr<V, Rounds>(m, table);
    } else if (m.length >= cached_counter_bytes) {
        ctr<V, Rounds>(m.round_keys, m.iv, m.input, m.output, m.length);
    } else {
        plain_ctr<V, Rounds>(m);
    }
    return true;
}

template <class V, int Rounds>
[[gnu::noinline]] bool short_ctr(const ShortMessage& m) {
    if (m.length >= first_round_ctr_bytes || !stays_below_carry(m.iv, m.length)) return longer_ctr<V, Rounds>(m);
    if constexpr (!V::has_masks) note_stack_depth(leaf_stack);
    plain_ctr<V, Rounds>(m);
    return true;
}

/// The setup that is worthwhile for a GCM message: none; steps of V::unroll vectors; or such steps and the key's table
/// for round one.
enum class GcmMeans { none, steps, table };

/// Runs all rounds on `state`, which already includes the first round key.
template <class V, int Rounds>
WARPAES_INLINE void encrypt_one(typename V::State& state, const std::uint8_t* keys) {
    typename V::State s[1] = {state};
    middle_rounds<V, false, 1, Rounds>(s, keys);
    state = V::aesenclast(s[0], round_key<V>(keys, Rounds));
}

/// Processes and hashes the first N vectors, or a partial vector. `mask`, an additional block, passes through all
/// rounds in parallel.
template <class V, int Rounds, bool Encrypt, std::size_t N, class Access>
WARPAES_INLINE void short_gcm_begin(const ShortMessage& m, const std::uint8_t* keys, PlainCounter<V>& counter,
                                    Ghash<V>& hash, typename V::State& mask, Access access, std::size_t blocks) {
    typename V::State s[N];
    typename V::Reg c[N];
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
        typename V::Reg out[N];
        values<V>(s, out);
        if constexpr (std::is_same_v<Access, Part>) out[0] = V::first_bytes(out[0], access.bytes);
        hash.add(out, blocks);
    }
}

/// Processes fewer than V::unroll vectors, and encrypts `mask`.
template <class V, int Rounds, bool Encrypt>
WARPAES_INLINE void short_gcm_text(const ShortMessage& m, const std::uint8_t* keys, Reg128 first, Ghash<V>& hash,
                                   typename V::State& mask) {
    static_assert(V::unroll == 8);
    PlainCounter<V> counter(keys, first);
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
    // J0 with its bytes reversed, so that the counter is the lowest of its four words.
    std::uint64_t upper;
    std::uint32_t lower;
    std::memcpy(&upper, m.iv, 8);
    std::memcpy(&lower, m.iv + 8, 4);
    const Reg128 j0 = make128(__builtin_bswap64(upper), std::uint64_t{__builtin_bswap32(lower)} << 32 | 1);
    const Reg128 first = add_words(j0, word128(1));
    typename V::State mask = V::sum(V::splat(swap_block(j0)), round_key<V>(keys, 0));

    constexpr std::size_t together = 64;
    const std::size_t blocks = (m.aad_length + 15) / 16 + (m.length + 15) / 16 + 1;
    Ghash<V> hash(with.powers, zero128(), blocks, together);
    if (blocks <= together) {
        hash.template add<1>(m.aad, m.aad_length);
    } else {
        hash_before_text(hash, together, m.aad, m.aad_length);
    }
    if constexpr (Means == GcmMeans::none) {
        short_gcm_text<V, Rounds, Encrypt>(m, keys, first, hash, mask);
    } else {
        constexpr GcmEnd end = V::has_masks ? GcmEnd::masked : GcmEnd::halved;
        encrypt_one<V, Rounds>(mask, keys);
        if constexpr (Means == GcmMeans::table) {
            GcmCounter<V> counter(keys, with.first_round, first);
            gcm_stretch<V, Rounds, Encrypt, end>(keys, counter, hash, m.input, m.output, m.length);
        } else {
            PlainCounter<V> counter(keys, first);
            gcm_stretch<V, Rounds, Encrypt, end>(keys, counter, hash, m.input, m.output, m.length);
        }
    }
    hash.add_lengths(8 * m.aad_length, 8 * m.length);
    store128(tag, xor128(hash.digest(), V::first_block(V::value(mask))));
}

template <class V, int Rounds, bool Encrypt>
void short_gcm(const ShortMessage& m, const SimdShortGcm& with, std::uint8_t* tag) {
    if (with.first_round != nullptr) return short_gcm_with<V, Rounds, Encrypt, GcmMeans::table>(m, with, tag);
    if (m.length >= V::unroll * V::bytes) return short_gcm_with<V, Rounds, Encrypt, GcmMeans::steps>(m, with, tag);
    short_gcm_with<V, Rounds, Encrypt, GcmMeans::none>(m, with, tag);
}

template <class V>
inline constexpr SimdShortCtrKernels short_ctr_kernels{{short_ctr<V, 10>, short_ctr<V, 12>, short_ctr<V, 14>}};

template <class V>
inline constexpr SimdShortGcmKernels short_gcm_kernels{
    {short_gcm<V, 10, true>, short_gcm<V, 12, true>, short_gcm<V, 14, true>},
    {short_gcm<V, 10, false>, short_gcm<V, 12, false>, short_gcm<V, 14, false>}};

}  // namespace warpaes::cpu
