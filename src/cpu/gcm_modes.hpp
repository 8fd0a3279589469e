// GCM (SP 800-38D), with the hash interleaved with the cipher: while the rounds of one group of vectors run, the
// products of another group, which use other execution ports, are computed. Decryption hashes the group that it
// decrypts; encryption hashes the previous group.
#pragma once

#include "cpu/counter_cache.hpp"
#include "cpu/far_text.hpp"
#include "cpu/ghash_vectors.hpp"
#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// Counter blocks after round one, from the key's table (aes/first_round.hpp), except where a group of vectors extends
/// past a counter that ends in a zero byte.
template <class V>
class GcmCounter {
public:
    static constexpr int first_round = 2;

    /// `first` is the first counter block with its bytes reversed.
    WARPAES_INLINE GcmCounter(const std::uint8_t* keys, const std::uint8_t* table, Reg128 first)
        : keys_(keys), table_(table), counter_(first), last_byte_(static_cast<std::uint8_t>(first_word(first))) {
        select();
    }

    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        constexpr std::size_t blocks = N * V::bytes / 16;
        const std::uint8_t* const entry = table_ + 16 * last_byte_;
        last_byte_ += blocks;
        if (last_byte_ > 256) [[unlikely]]
            return compute(s);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(constant_, V::load(entry + i * V::bytes, Whole{}));
    }

private:
    using Reg = typename V::Reg;
    using State = typename V::State;

    /// Sets the constant for `counter_` and all counters with the same upper 15 bytes.
    WARPAES_INLINE void select() {
        const Reg c[1] = {V::splat(without_first_byte(counter_))};
        State s[1];
        round_one(c, s);
        constant_ = V::bxor(V::value(s[0]), V::splat(load_aligned128(table_)));
    }
    /// Computes the N vectors that end at `last_byte_`, which has exceeded 255.
    template <std::size_t N>
    WARPAES_INLINE void compute(State (&s)[N]) {
        constexpr std::size_t blocks = N * V::bytes / 16;
        const Reg128 base = without_first_byte(counter_);
        counter_ = add_words(base, word128(static_cast<std::uint32_t>(last_byte_)));
        last_byte_ -= 256;
        select();
        Reg c[N];
        c[0] = V::add32(V::splat(subtract_words(counter_, word128(blocks))), V::lane_numbers());
        WARPAES_UNROLL
        for (std::size_t i = 1; i < N; ++i) c[i] = V::add32(c[i - 1], V::splat(word128(V::bytes / 16)));
        round_one(c, s);
    }
    template <std::size_t N>
    WARPAES_INLINE void round_one(const Reg (&counters)[N], State (&s)[N]) {
        const auto k0 = round_key<V>(keys_, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(V::swap_bytes(counters[i]), k0);
        middle_rounds<V, false, 1, 2>(s, keys_);
    }

    const std::uint8_t* keys_;
    const std::uint8_t* table_;
    Reg128 counter_;
    std::size_t last_byte_;
    Reg constant_;
};

/// Counter blocks after round two, from tables for 65,536 blocks each. A table ends where the 32-bit counter wraps.
template <class V, int Rounds>
class CachedGcmCounter {
public:
    static constexpr int first_round = CachedCounter<V, Rounds>::first_round;

    CachedGcmCounter(const std::uint8_t* keys, std::uint64_t high, std::uint64_t low)
        : cache_(keys, high, low), high_(high), low_(low) {}

    /// A group of vectors must not extend past the next counter that ends in a zero byte.
    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        if (static_cast<std::uint8_t>(low_) == 0) turn();
        cache_.next(s);
        low_ = (low_ & ~std::uint64_t{0xffffffff}) | static_cast<std::uint32_t>(low_ + N * V::bytes / 16);
    }

private:
    void turn() {
        if (low_ % 65536 == 0) {
            cache_.make(high_, low_);
        } else {
            cache_.select(low_);
        }
    }

    CachedCounter<V, Rounds> cache_;
    std::uint64_t high_, low_;
};

template <class V, int Rounds, std::size_t N, int First>
WARPAES_INLINE void encrypt_and_add(typename V::State (&s)[N], const std::uint8_t* keys,
                                    const typename V::Reg (&input)[N]) {
    middle_rounds<V, false, First, Rounds>(s, keys);
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenclast(s[i], V::bxor(last, input[i]));
}

/// Computes the rounds from `First` onwards and adds input(i) to s[i]. Between the rounds, hash(from, to) is called for
/// parts of the `Beside` vectors.
template <class V, int Rounds, int First, std::size_t Beside, std::size_t N, class Input, class Hash>
WARPAES_INLINE void rounds_beside_hash(typename V::State (&s)[N], const std::uint8_t* keys, const Input& input,
                                       const Hash& hash) {
    constexpr std::size_t shares = Rounds - First + 1;
    const auto hash_share = [&](std::size_t i) __attribute__((always_inline)) {
        hash(Beside * i / shares, Beside * (i + 1) / shares);
    };
    WARPAES_UNROLL
    for (int r = First; r < Rounds; ++r) {
        const auto k = round_key<V>(keys, r);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenc(s[i], k);
        hash_share(static_cast<std::size_t>(r - First));
    }
    const auto last = round_key<V>(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenclast(s[i], V::bxor(last, input(i)));
    hash_share(shares - 1);
}

/// Output without a copy.
template <class V>
struct NearOutput {
    template <std::size_t N>
    WARPAES_INLINE void put(std::uint8_t* output, const typename V::State (&s)[N]) {
        store_all<V>(output, s, Whole{});
    }
};

/// Encrypts N vectors and, if `Hash` is set, hashes the vectors at `hashed` at the same time.
template <class V, int Rounds, std::size_t N, bool Hash, class Counter, class Digest, class Output>
WARPAES_INLINE void gcm_step(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                             std::uint8_t* output, const std::uint8_t* hashed, Output& sink) {
    typename V::State s[N];
    counter.next(s);
    if constexpr (Hash) hash.begin_group();
    rounds_beside_hash<V, Rounds, Counter::first_round, Hash ? N : 0>(
        s, keys, [&](std::size_t i) __attribute__((always_inline)) { return V::load(input + i * V::bytes, Whole{}); },
        [&](std::size_t from, std::size_t to) __attribute__((always_inline)) { hash.add_vectors(hashed, from, to); });
    sink.put(output, s);
    if constexpr (Hash) hash.end_group(N * Digest::lanes);
}

/// Processes fewer than 2N vectors and hashes each group immediately.
template <class V, int Rounds, bool Encrypt, std::size_t N, class Counter, class Digest>
WARPAES_INLINE void gcm_rest(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t bytes) {
    constexpr int first = Counter::first_round;
    if (bytes >= N * V::bytes) {
        typename V::State s[N];
        typename V::Reg c[N];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) c[i] = V::load(input + i * V::bytes, Whole{});
        counter.next(s);
        encrypt_and_add<V, Rounds, N, first>(s, keys, c);
        store_all<V>(output, s, Whole{});
        if constexpr (Encrypt) {
            typename V::Reg out[N];
            values<V>(s, out);
            hash.add(out);
        } else {
            hash.add(c);
        }
        input += N * V::bytes;
        output += N * V::bytes;
        bytes -= N * V::bytes;
    }
    if constexpr (N > 1) {
        gcm_rest<V, Rounds, Encrypt, N / 2>(keys, counter, hash, input, output, bytes);
    } else if (bytes != 0) {
        typename V::State s[1];
        typename V::Reg c[1] = {V::load(input, Part{bytes})};
        counter.next(s);
        encrypt_and_add<V, Rounds, 1, first>(s, keys, c);
        const auto out = V::value(s[0]);
        V::store(output, out, Part{bytes});
        if constexpr (Encrypt) c[0] = V::first_bytes(out, bytes);
        hash.add(c, (bytes + 15) / 16);
    }
}

/// Processes the last N or N - 1 vectors; the last vector may be partial. Encryption hashes the `Behind` vectors before
/// `output` during the rounds, and then its own output; decryption hashes its input during the rounds.
template <class V, int Rounds, bool Encrypt, std::size_t N, std::size_t Behind, class Counter, class Digest>
WARPAES_INLINE void gcm_end(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                            std::uint8_t* output, std::size_t bytes) {
    static_assert(N % 2 == 0);
    const auto clip = [&](std::size_t i) __attribute__((always_inline)) {
        return Clipped{static_cast<std::ptrdiff_t>(bytes) - static_cast<std::ptrdiff_t>(i * V::bytes)};
    };
    // A vector past the end uses the first vector's address: a masked access to an unmapped page does not fault, but
    // takes over 100 ns.
    const auto place = [&](std::size_t i) __attribute__((always_inline)) {
        return i + 1 < N || bytes > i * V::bytes ? i * V::bytes : 0;
    };
    const std::size_t blocks = (bytes + 15) / 16;
    typename V::State s[N];
    typename V::Reg text[N];
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N - 2; ++i) text[i] = V::load(input + i * V::bytes, Whole{});
    WARPAES_UNROLL
    for (std::size_t i = N - 2; i < N; ++i) text[i] = V::load(input + place(i), clip(i));
    counter.next(s);
    constexpr std::size_t beside = Encrypt ? Behind : N;
    if constexpr (beside != 0) hash.begin_group();
    rounds_beside_hash<V, Rounds, Counter::first_round, beside>(
        s, keys, [&](std::size_t i) __attribute__((always_inline)) { return text[i]; },
        [&](std::size_t from, std::size_t to) __attribute__((always_inline)) {
            if constexpr (Encrypt) {
                hash.add_vectors(output - Behind * V::bytes, from, to);
            } else {
                hash.add_vectors(text, from, to);
            }
        });
    if constexpr (beside != 0) hash.end_group(Encrypt ? Behind * Digest::lanes : blocks);
    values<V>(s, text);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N - 2; ++i) V::store(output + i * V::bytes, text[i], Whole{});
    WARPAES_UNROLL
    for (std::size_t i = N - 2; i < N; ++i) {
        text[i] = V::clip(text[i], clip(i));
        V::store(output + place(i), text[i], clip(i));
    }
    if constexpr (Encrypt) hash.add(text, blocks);
}

/// Processes at most V::unroll vectors, and also hashes the `Behind` vectors before `output`.
template <class V, int Rounds, bool Encrypt, std::size_t Behind, class Counter, class Digest>
WARPAES_INLINE void gcm_ends(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t bytes) {
    static_assert(V::unroll == 8);
    if (bytes > 6 * V::bytes) {
        gcm_end<V, Rounds, Encrypt, 8, Behind>(keys, counter, hash, input, output, bytes);
    } else if (bytes > 4 * V::bytes) {
        gcm_end<V, Rounds, Encrypt, 6, Behind>(keys, counter, hash, input, output, bytes);
    } else if (bytes > 2 * V::bytes) {
        gcm_end<V, Rounds, Encrypt, 4, Behind>(keys, counter, hash, input, output, bytes);
    } else if (bytes > V::bytes) {
        gcm_end<V, Rounds, Encrypt, 2, Behind>(keys, counter, hash, input, output, bytes);
    } else {
        if constexpr (Behind != 0) hash.template add<Behind>(output - Behind * V::bytes);
        gcm_rest<V, Rounds, Encrypt, 1>(keys, counter, hash, input, output, bytes);
    }
}

/// How the end of a stretch is processed: in one group of vectors if the instruction set has masks, so that the last
/// vectors do not wait for each other; otherwise in smaller and smaller groups, which takes less code.
enum class GcmEnd { masked, halved };

/// Processes a stretch. Encryption hashes one step behind the cipher.
template <class V, int Rounds, bool Encrypt, GcmEnd End = GcmEnd::halved, class Counter, class Digest>
WARPAES_INLINE void gcm_stretch(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                                std::uint8_t* output, std::size_t bytes) {
    constexpr std::size_t n = V::unroll, step = n * V::bytes;
    constexpr bool masked = End == GcmEnd::masked;
    // The end consists of at most one step, which is hashed from registers.
    constexpr std::size_t least = Encrypt && masked ? step + 1 : step;
    NearOutput<V> sink;
    if (bytes >= least) {
        if constexpr (Encrypt) {
            gcm_step<V, Rounds, n, false>(keys, counter, hash, input, output, nullptr, sink);
            for (input += step, output += step, bytes -= step; bytes >= least;
                 input += step, output += step, bytes -= step) {
                gcm_step<V, Rounds, n, true>(keys, counter, hash, input, output, output - step, sink);
            }
            if constexpr (masked) return gcm_ends<V, Rounds, true, n>(keys, counter, hash, input, output, bytes);
            hash.template add<n>(output - step);
        } else {
            for (; bytes >= step; input += step, output += step, bytes -= step) {
                gcm_step<V, Rounds, n, true>(keys, counter, hash, input, output, input, sink);
            }
        }
    }
    if constexpr (masked) return gcm_ends<V, Rounds, Encrypt, 0>(keys, counter, hash, input, output, bytes);
    gcm_rest<V, Rounds, Encrypt, n / 2>(keys, counter, hash, input, output, bytes);
}

/// For messages of at least this length, most stores bypass the caches; the stores of the first step never do.
inline constexpr std::size_t least_far_gcm = 2048;

/// Processes a stretch that is larger than the caches, or a message of a batch that is larger than the caches. The
/// caller must call end_streams(). `output` is aligned to blocks. The digest is computed from a copy of the ciphertext,
/// because stores that bypass the caches leave the data only in memory.
template <class V, int Rounds, bool Encrypt, class Counter, class Digest>
WARPAES_INLINE void far_gcm_stretch(const std::uint8_t* keys, Counter& counter, Digest& hash, const std::uint8_t* input,
                                    std::uint8_t* output, std::size_t bytes) {
    constexpr std::size_t n = V::unroll, step = n * V::bytes;
    if (bytes < step) return gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, bytes);
    NearOutput<V> near;
    gcm_step<V, Rounds, n, !Encrypt>(keys, counter, hash, input, output, input, near);
    const std::uint8_t* hashed = output;
    FarOutput<V, Encrypt> far(output, V::load(output + step - V::bytes, Whole{}));
    for (input += step, output += step, bytes -= step; bytes >= step; input += step, output += step, bytes -= step) {
        gcm_step<FarText<V>, Rounds, n, true>(keys, counter, hash, input, output, Encrypt ? hashed : input, far);
        hashed = far.copy;
    }
    V::store(output - V::bytes, far.last(), Whole{});
    if constexpr (Encrypt) hash.template add<n>(hashed);
    gcm_rest<V, Rounds, Encrypt, n / 2>(keys, counter, hash, input, output, bytes);
}

/// From this message length onwards, a table is worthwhile: computing it takes about 100 ns and saves the second round.
/// Measured on a Xeon with AVX-512 and AMX, 2 cores, g++ 12.
inline constexpr std::size_t cached_gcm_bytes = 65536;

/// `first` is the first counter block with its bytes reversed.
template <class V, int Rounds, bool Encrypt, bool SecretCounters>
WARPAES_INLINE void gcm_message(const SimdGcm& run, Reg128 first, Ghash<V>& hash, const std::uint8_t* input,
                                std::uint8_t* output, std::size_t bytes) {
    const std::uint8_t* const keys = run.keys;
    if constexpr (SecretCounters) {
        PlainCounter<V> counter(keys, first);
        return gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, bytes);
    }
    GcmCounter<V> counter(keys, run.first_round, first);
    const bool far = run.beyond_caches && reinterpret_cast<std::uintptr_t>(output) % 16 == 0;
    if (bytes < cached_gcm_bytes) {
        if (far && bytes >= least_far_gcm) {
            return far_gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, bytes);
        }
        return gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, bytes);
    }
    // First process the blocks up to a counter that is a multiple of a step, so that every table ends at the end of a
    // step.
    constexpr std::size_t step_blocks = V::unroll * V::bytes / 16;
    std::uint64_t low, high;
    std::memcpy(&low, &first, 8);
    std::memcpy(&high, reinterpret_cast<const std::uint8_t*>(&first) + 8, 8);
    const std::size_t head = (step_blocks - low % step_blocks) % step_blocks;
    if (head != 0) {
        hash.together(head);
        gcm_rest<V, Rounds, Encrypt, V::unroll / 2>(keys, counter, hash, input, output, 16 * head);
        low = (low & ~std::uint64_t{0xffffffff}) | static_cast<std::uint32_t>(low + head);
    }
    CachedGcmCounter<V, Rounds> cached(keys, high, low);
    input += 16 * head, output += 16 * head, bytes -= 16 * head;
    if (far) {
        return far_gcm_stretch<V, Rounds, Encrypt>(keys, cached, hash, input, output, bytes);
    }
    gcm_stretch<V, Rounds, Encrypt>(keys, cached, hash, input, output, bytes);
}

template <class V, int Rounds, bool SecretCounters>
WARPAES_INLINE void gcm_segment(const SimdGcm& run, const std::uint8_t* input, std::uint8_t* output, std::size_t bytes,
                                const std::uint8_t* j0, std::uint8_t* result) {
    const std::size_t blocks = (bytes + 15) / 16;
    Ghash<V> hash(run.powers, run.tags ? load128(run.aad_digest) : zero128(), blocks + (run.tags ? 1 : 0));
    const Reg128 first = add_words(swap_block(load128(j0)), word128(static_cast<std::uint32_t>(1 + run.first_block)));
    if (run.encrypt) {
        gcm_message<V, Rounds, true, SecretCounters>(run, first, hash, input, output, bytes);
    } else {
        gcm_message<V, Rounds, false, SecretCounters>(run, first, hash, input, output, bytes);
    }
    Reg128 value;
    if (run.tags) {
        hash.add_lengths(8 * run.aad_bytes, 8 * bytes);
        typename V::State s[1] = {V::sum(V::splat(load128(j0)), round_key<V>(run.keys, 0))};
        const typename V::Reg sum[1] = {V::from_block(hash.digest())};
        encrypt_and_add<V, Rounds, 1, 1>(s, run.keys, sum);
        value = V::first_block(V::value(s[0]));
    } else {
        value = hash.digest();
    }
    store128(result, value);
}

template <class V>
void hash_segment(const SimdGcm& run, const std::uint8_t* input, std::size_t bytes, std::uint8_t* result) {
    Ghash<V> hash(run.powers, zero128(), (bytes + 15) / 16);
    hash.template add<V::unroll>(input, bytes);
    store128(result, hash.digest());
}

/// gcm_segments() is not inlined, so that each of its instances is optimised separately.
template <class V, bool SecretCounters>
[[gnu::noinline]] void gcm_segments(const SimdGcm& run) {
    note_stack_depth();
    for (std::size_t i = 0; i < run.count; ++i) {
        const std::size_t bytes = i + 1 == run.count ? run.last_bytes : run.segment_bytes;
        const std::uint8_t* const input = run.input + i * run.input_stride;
        std::uint8_t* const result = run.results + 16 * i;
        if (run.output == nullptr && !run.tags) {
            hash_segment<V>(run, input, bytes, result);
            continue;
        }
        std::uint8_t* const output = run.output + i * run.output_stride;
        const std::uint8_t* const j0 = run.j0 + 16 * i;
        switch (run.rounds) {
        case 10:
            gcm_segment<V, 10, SecretCounters>(run, input, output, bytes, j0, result);
            break;
        case 12:
            gcm_segment<V, 12, SecretCounters>(run, input, output, bytes, j0, result);
            break;
        default:
            gcm_segment<V, 14, SecretCounters>(run, input, output, bytes, j0, result);
        }
    }
    if (run.beyond_caches) end_streams();
}

template <class V>
void run_gcm(const SimdGcm& run) {
    if (run.first_round == nullptr) return gcm_segments<V, true>(run);
    gcm_segments<V, false>(run);
}

}  // namespace warpaes::cpu
