// CTR that reads the result of the first two rounds from a table shared by 65,536 blocks.
//
// Let s0 = counter ^ k0, s1 = round(s0, k1), s2 = round(s1, k2), where round is SubBytes, ShiftRows, MixColumns and
// AddRoundKey. Consider counters that differ only in their last two bytes, g (byte 14: row 2 of column 3) and j (byte
// 15: row 3 of column 3). ShiftRows moves row r by r columns to the left, so after round one, j affects only column 0
// of s1, and g only column 1. SubBytes operates on single bytes and the rest of a round is affine, so s2 is a sum of
// contributions of the four columns of s1:
//     s2(g, j) = f(j) ^ h(g) ^ constant,   and therefore   s2(g, j) = s2(g0, j) ^ [s2(g, j0) ^ s2(g0, j0)].
// The first term is a table over j of 256 blocks (4 KiB); the bracket is one block for every 256 counters. A vector of
// blocks starts at round three with a load and an addition: no counting, no byte swap, no whitening, and two rounds
// fewer.
//
// The table depends on the key, but its index is the public counter, so no address depends on a secret.
#pragma once

#include <type_traits>

#include "base/stack_depth.hpp"
#include "cpu/far_text.hpp"
#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// Returns a counter block with its bytes reversed, so that it can be used as a number.
WARPAES_INLINE Reg128 counter_of(std::uint64_t high, std::uint64_t low) {
    return make128(high, low);
}

/// Computes counter blocks by counting in the last 32 bits, which wrap without a carry. The counter may be secret:
/// unlike with tables, no address depends on it.
template <class V>
class PlainCounter {
public:
    static constexpr int first_round = 1;

    /// `first` is the first counter block with its bytes reversed.
    WARPAES_INLINE PlainCounter(const std::uint8_t* keys, Reg128 first)
        : k0_(round_key<V>(keys, 0)), counters_(V::add32(V::splat(first), V::lane_numbers())) {}

    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        const auto step = V::splat(word128(V::bytes / 16));
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            s[i] = V::sum(V::swap_bytes(counters_), k0_);
            counters_ = V::add32(counters_, step);
        }
    }

private:
    typename V::Reg k0_, counters_;
};

/// Computes counter blocks with the table. All counters must have the same upper 14 bytes as high * 2^64 + low, the
/// counter from which the table was computed.
template <class V, int Rounds>
class CachedCounter {
public:
    CachedCounter(const std::uint8_t* keys, std::uint64_t high, std::uint64_t low) : keys_(keys) {
        note_stack_depth();
        make(high, low);
    }
    CachedCounter(const CachedCounter&) = delete;
    CachedCounter& operator=(const CachedCounter&) = delete;

    /// Recomputes the table for counters with other upper bytes.
    void make(std::uint64_t high, std::uint64_t low) {
        high_ = high;
        constexpr std::size_t n = 8;
        auto counters = first_counters(low);
        for (std::size_t offset = 0; offset < table_bytes; offset += n * V::bytes) {
            typename V::Reg c[n];
            typename V::State s[n];
            WARPAES_UNROLL
            for (std::size_t i = 0; i < n; ++i) {
                c[i] = V::swap_bytes(counters);
                counters = V::add32(counters, V::splat(word128(V::bytes / 16)));
            }
            two_rounds(c, s);
            store_all<V>(table_ + offset, s, Whole{});
        }
        select(low);
    }

    /// Moves to counter high * 2^64 + low. Steps may then continue up to the next counter that ends in a zero byte.
    WARPAES_INLINE void select(std::uint64_t low) {
        const typename V::Reg c[1] = {V::swap_bytes(first_counters(low))};
        typename V::State s[1];
        two_rounds(c, s);
        const auto first = V::splat(V::first_block(V::value(s[0])));
        correction_ = V::bxor(first, V::splat(load_aligned128(table_)));
        entry_ = table_ + 16 * (low & 0xff);
    }

    /// Returns the states of the next counters, as the input of round `first_round`.
    static constexpr int first_round = 3;
    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(correction_, V::load(entry_ + i * V::bytes, Whole{}));
        entry_ += N * V::bytes;
    }

private:
    /// Returns the counters starting at the counter that equals `low` except for its last byte, which is zero.
    WARPAES_INLINE typename V::Reg first_counters(std::uint64_t low) const {
        return V::add32(V::splat(counter_of(high_, low & ~std::uint64_t{0xff})), V::lane_numbers());
    }
    template <std::size_t N>
    WARPAES_INLINE void two_rounds(const typename V::Reg (&counters)[N], typename V::State (&s)[N]) const {
        const auto k0 = round_key<V>(keys_, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(counters[i], k0);
        middle_rounds<V, false, 1, 3>(s, keys_);
    }

    static constexpr std::size_t table_bytes = 256 * 16;

    // A vector load of the last entries reads past the end of the table; those bytes are never combined with input.
    alignas(64) std::uint8_t table_[table_bytes + V::bytes - 16];
    const std::uint8_t* keys_;
    std::uint64_t high_;
    typename V::Reg correction_;
    const std::uint8_t* entry_;
};

/// CTR for N vectors; the last vector has `part` bytes.
template <class V, int Rounds, std::size_t N, class Counter>
WARPAES_INLINE void ctr_end(const std::uint8_t* keys, Counter& counter, const std::uint8_t* input, std::uint8_t* output,
                            std::size_t part) {
    typename V::State s[N];
    counter.next(s);
    constexpr std::size_t at = (N - 1) * V::bytes;
    const auto text = [&](std::size_t i) __attribute__((always_inline)) {
        return i + 1 < N ? V::load(input + i * V::bytes, Whole{}) : V::load(input + at, Part{part});
    };
    all_rounds<V, false, Counter::first_round, Rounds>(s, keys, text);
    WARPAES_UNROLL
    for (std::size_t i = 0; i + 1 < N; ++i) V::store(output + i * V::bytes, V::value(s[i]), Whole{});
    V::store(output + at, V::value(s[N - 1]), Part{part});
}

/// CTR for the last one to six vectors, all at once.
template <class V, int Rounds, class Counter>
WARPAES_INLINE void ctr_rest(const std::uint8_t* keys, Counter& counter, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t bytes) {
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
    default:
        return ctr_end<V, Rounds, 6>(keys, counter, input, output, part);
    }
}

/// `Text` is V, or a type that loads and stores its vectors differently.
template <class V, int Rounds, class Counter, class Text = V>
struct CtrMode {
    const std::uint8_t* keys;
    Counter& counter;

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::State s[N];
        counter.next(s);
        const auto text = [&](std::size_t i) __attribute__((always_inline)) {
            return Text::load(input + i * V::bytes, access);
        };
        all_rounds<V, false, Counter::first_round, Rounds>(s, keys, text);
        store_all<Text>(output, s, access);
    }
};

/// Applies the key stream of the next counters. V::ctr_vectors vectors are processed at a time: as many vectors as a
/// round instruction has cycles of latency would hide that latency, and a few more cover occasional delays.
template <class V, int Rounds, class Counter>
WARPAES_INLINE void ctr_walk(const std::uint8_t* keys, Counter& counter, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t length) {
    CtrMode<V, Rounds, Counter> mode{keys, counter};
    if constexpr (V::has_masks) {
        constexpr std::size_t n = V::ctr_vectors, step = n * V::bytes;
        static_assert(n == 12);
        for (; length >= step; length -= step, input += step, output += step) {
            mode.template step<n>(input, output, Whole{});
        }
        if (length > step / 2) {
            mode.template step<n / 2>(input, output, Whole{});
            length -= step / 2, input += step / 2, output += step / 2;
        }
        if (length != 0) ctr_rest<V, Rounds>(keys, counter, input, output, length);
    } else {
        walk<V, V::ctr_vectors>(mode, input, output, length);
    }
}

/// Whether counting changes only the last 32 bits of the counter. The count includes a partial last block.
WARPAES_INLINE bool stays_below_carry(const std::uint8_t* counter, std::size_t bytes) {
    return bytes / 16 < static_cast<std::uint32_t>(~load_big_endian(counter + 8));
}

/// Text whose stores bypass the caches, for whole vectors of an aligned output.
template <class V>
struct StreamedText : FarText<V> {
    using V::store;
    WARPAES_INLINE static void store(std::uint8_t* p, typename V::Reg v, Whole) { V::stream(p, v); }
};

/// A message of at least this length has enough whole cache lines for stores that bypass the caches.
inline constexpr std::size_t least_far_ctr = 512;

/// CTR for a message that is too short for tables, in a batch that is larger than the caches. Only complete cache lines
/// bypass the caches. The lines at the message's ends may be shared with adjacent messages. The caller must call
/// end_streams(), and must have checked that the counter stays below a carry.
template <class V, int Rounds>
WARPAES_INLINE void far_plain_ctr(const std::uint8_t* keys, const std::uint8_t* counter, const std::uint8_t* input,
                                  std::uint8_t* output, std::size_t length) {
    constexpr std::size_t line = 64;
    const Reg128 first = swap_block(load128(counter));
    PlainCounter<V> near(keys, first);
    const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(output) % line) % line;
    if (head % 16 != 0) return ctr_walk<V, Rounds>(keys, near, input, output, length);
    if (head != 0) ctr_walk<V, Rounds>(keys, near, input, output, head);
    PlainCounter<V> counters(keys, add_words(first, word128(static_cast<std::uint32_t>(head / 16))));
    const std::size_t body = (length - head) / line * line, rest = length - head - body;
    CtrMode<V, Rounds, PlainCounter<V>, StreamedText<V>> mode{keys, counters};
    walk<V, V::ctr_vectors>(mode, input + head, output + head, body);
    if (rest != 0) ctr_walk<V, Rounds>(keys, counters, input + head + body, output + head + body, rest);
}

/// CTR in pieces in which the upper 14 bytes of the counter are constant.
template <class V, int Rounds>
[[gnu::noinline]] void ctr(const std::uint8_t* keys, const std::uint8_t* counter, const std::uint8_t* input,
                           std::uint8_t* output, std::size_t length) {
    note_stack_depth();
    std::uint64_t high = load_big_endian(counter), low = load_big_endian(counter + 8);
    while (length != 0) {
        const std::uint64_t blocks = 65536 - (low & 0xffff);
        const std::size_t piece = length < 16 * blocks ? length : 16 * blocks;
        if (piece < cached_counter_bytes) {
            PlainCounter<V> counters(keys, counter_of(high, low));
            ctr_walk<V, Rounds>(keys, counters, input, output, piece);
        } else {
            CachedCounter<V, Rounds> counters(keys, high, low);
            std::uint64_t at = low;
            for (std::size_t done = 0; done < piece;) {
                const std::size_t group = 16 * (256 - (at & 0xff));
                const std::size_t n = piece - done < group ? piece - done : group;
                counters.select(at);
                ctr_walk<V, Rounds>(keys, counters, input + done, output + done, n);
                done += n;
                at += 256 - (at & 0xff);
            }
        }
        input += piece;
        output += piece;
        length -= piece;
        low += blocks;
        if (low == 0) ++high;
    }
}

/// CTR for a stretch that is larger than the caches.
template <class V, int Rounds>
[[gnu::noinline]] void far_ctr(const std::uint8_t* keys, const std::uint8_t* counter, const std::uint8_t* input,
                               std::uint8_t* output, std::size_t length) {
    note_stack_depth();
    constexpr std::size_t group_blocks = 256, group = 16 * group_blocks;
    std::uint64_t high = load_big_endian(counter), low = load_big_endian(counter + 8);
    const auto count = [&](std::uint64_t blocks) {
        low += blocks;
        if (low < blocks) ++high;
    };
    // Up to a counter that ends in a zero byte; at least one group, because FarOutput requires the end of a group.
    const std::size_t head = 2 * group - 16 * (low % group_blocks);
    constexpr std::size_t least = 65536;  // for fewer bytes, the beginning and the end are a large share
    if (length >= least_far_ctr && length < least && stays_below_carry(counter, length)) {
        far_plain_ctr<V, Rounds>(keys, counter, input, output, length);
        return end_streams();
    }
    if (reinterpret_cast<std::uintptr_t>(output) % 16 != 0 || length < least) {
        return ctr<V, Rounds>(keys, counter, input, output, length);
    }
    ctr<V, Rounds>(keys, counter, input, output, head);
    input += head, output += head, length -= head;
    count(head / 16);
    CachedCounter<V, Rounds> counters(keys, high, low);
    FarOutput<V> far(output, V::load(output - V::bytes, Whole{}));
    for (bool first = true; length >= group; length -= group, first = false) {
        if (low % 65536 == 0 && !first) {
            counters.make(high, low);
        } else {
            counters.select(low);
        }
        constexpr std::size_t n = V::unroll, step = n * V::bytes;
        static_assert(group % step == 0);
        for (std::size_t done = 0; done < group; done += step, input += step, output += step) {
            typename V::State s[n];
            counters.next(s);
            all_rounds<V, false, CachedCounter<V, Rounds>::first_round, Rounds>(
                s, keys, [&](std::size_t i) __attribute__((always_inline)) {
                    return FarText<V>::load(input + i * V::bytes, Whole{});
                });
            far.put(output, s);
        }
        count(group_blocks);
    }
    V::store(output - V::bytes, far.last(), Whole{});
    end_streams();
    std::uint8_t next[16];
    store128(next, swap_block(counter_of(high, low)));
    ctr<V, Rounds>(keys, next, input, output, length);
}

}  // namespace warpaes::cpu
