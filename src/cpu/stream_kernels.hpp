// Serial modes for many messages at once. Each block of a message waits for the previous block, so the pipeline is
// filled with blocks of different messages, one message per lane.
#pragma once

#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// The number of vectors in one call if the streams have different keys. With 32 registers of four blocks, the texts of
/// four vectors stay in registers, and eight are not faster.
template <class V>
inline constexpr std::size_t keyed_vectors = V::registers >= 32 && V::bytes == 64 ? 4 : SimdStreams::vectors;

/// Processes N vectors of streams, four blocks of each stream at a time. Four blocks fill a cache line, so each line
/// is loaded only once. Streams at power-of-two distances compete for the same cache sets, and a line may be evicted
/// before a second use. With
/// `OneKey`, a round key is loaded once for all vectors, and eight vectors keep the AES units busy. With a key for each
/// stream, each round of each vector loads a round key.
template <class V, int Rounds, StreamKind Kind, std::size_t N, bool OneKey>
class StreamSteps {
public:
    WARPAES_INLINE explicit StreamSteps(const SimdStreams& streams) : streams_(streams) {}

    WARPAES_INLINE void run() {
        Reg state[N];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) state[i] = V::load(streams_.chains + i * V::bytes, Whole{});
        const std::size_t lines = 64 * (streams_.steps / 4), end = 16 * streams_.steps;
        if constexpr (in_registers) {
            std::size_t at = 0;
            if constexpr (N * lanes == 16) {
                if (lines >= long_bytes) at = pairs_of_lines(state, lines);
            }
            for (; at < lines; at += 64) four_blocks(state, at);
        } else if (lines != 0) {
            lines_in_memory(state, lines);
        }
        for (std::size_t at = lines; at < end; at += 16) block(state, at);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) V::store(streams_.chains + i * V::bytes, state[i], Whole{});
    }

private:
    using Reg = typename V::Reg;
    using Vectors = std::uint8_t[4][N][V::bytes];  ///< four blocks of each stream
    static constexpr std::size_t lanes = V::bytes / 16;
    static constexpr bool text_first = Kind == StreamKind::cbc || Kind == StreamKind::mac;
    static constexpr bool has_output = Kind != StreamKind::mac;
    /// Whether the registers hold four blocks of each stream, the states and temporary values.
    static constexpr bool in_registers = 5 * N + 4 <= V::registers;
    /// If not, round keys are loaded again for every block. The compiler would otherwise copy them, or the states, to
    /// the stack.
    static constexpr bool keys_in_registers = 5 * N + (OneKey ? 1 : N) * (Rounds + 1) <= V::registers;

    WARPAES_INLINE void four_blocks(Reg (&state)[N], std::size_t at) const {
        Reg t[N][4];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) V::load_four(streams_.inputs + i * lanes, at, t[i]);
        four_blocks(
            state, t, at, [&](std::size_t b, std::size_t i) __attribute__((always_inline)) { return t[i][b]; });
    }
    /// `t` may contain the texts, and afterwards contains the outputs.
    template <class Text>
    WARPAES_INLINE void four_blocks(Reg (&state)[N], Reg (&t)[N][4], std::size_t at, const Text& text) const {
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) {
            prefetch(b, at);
            Reg out[N];
            cipher(
                state, [&](std::size_t i) __attribute__((always_inline)) { return text(b, i); }, out);
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) t[i][b] = out[i];
        }
        if constexpr (has_output) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) V::store_four(streams_.outputs + i * lanes, at, t[i]);
        }
    }

    /// Texts of this length or more are loaded two lines at a time, during the rounds of the previous two lines.
    /// Otherwise loads soon follow stores to addresses with the same low 12 bits, and processors delay such loads: on a
    /// Zen 5, messages of 4 and 16 KiB took 1.2 times as long.
    static constexpr std::size_t long_bytes = 1024;

    /// Returns the number of bytes processed: all whole pairs of lines up to `end`.
    WARPAES_INLINE std::size_t pairs_of_lines(Reg (&state)[N], std::size_t end) const {
        constexpr std::size_t pair = 128;
        alignas(64) Vectors texts[2][2];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) load_pair(texts[0], i, 0);
        std::size_t half = 0, at = 0;
        for (; at + pair <= end; at += pair, half ^= 1) {
            const bool is_last = at + 2 * pair > end;
            for (std::size_t l = 0; l < 2; ++l) {
                if (!is_last) {
                    WARPAES_UNROLL
                    for (std::size_t q = 0; q < N / 2; ++q) load_pair(texts[half ^ 1], l * (N / 2) + q, at + pair);
                }
                Reg t[N][4];
                const auto text = [&](std::size_t b, std::size_t i) __attribute__((always_inline)) {
                    return V::load(texts[half][l][b][i], Whole{});
                };
                four_blocks(state, t, at + 64 * l, text);
            }
        }
        return at;
    }
    WARPAES_INLINE void load_pair(Vectors (&lines)[2], std::size_t i, std::size_t at) const {
        load_line(lines[0], i, at);
        load_line(lines[1], i, at + 64);
    }

    /// Between the rounds of a block, loads a quarter of the next four blocks and stores a quarter of the previous
    /// four: these are independent of the rounds, so the processor does both at the same time.
    WARPAES_INLINE void lines_in_memory(Reg (&state)[N], std::size_t end) const {
        constexpr std::size_t quarter = N / 4;
        alignas(64) Vectors texts[2];
        alignas(64) Vectors outs[2];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) load_line(texts[0], i, 0);
        std::size_t half = 0;
        for (std::size_t at = 0; at < end; at += 64, half ^= 1) {
            const bool is_first = at == 0, is_last = at + 64 == end;
            for (std::size_t b = 0; b < 4; ++b) {
                if (!is_last) {
                    WARPAES_UNROLL
                    for (std::size_t q = 0; q < quarter; ++q) load_line(texts[half ^ 1], b * quarter + q, at + 64);
                }
                prefetch(b, at);
                Reg out[N];
                const auto text = [&](std::size_t i) __attribute__((always_inline)) {
                    return V::load(texts[half][b][i], Whole{});
                };
                cipher(state, text, out);
                if constexpr (has_output) {
                    if (!is_first) {
                        WARPAES_UNROLL
                        for (std::size_t q = 0; q < quarter; ++q) {
                            store_line(outs[half ^ 1], b * quarter + q, at - 64);
                        }
                    }
                    WARPAES_UNROLL
                    for (std::size_t i = 0; i < N; ++i) V::store(outs[half][b][i], out[i], Whole{});
                }
            }
        }
        if constexpr (has_output) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) store_line(outs[half ^ 1], i, end - 64);
        }
    }
    WARPAES_INLINE void load_line(Vectors& vectors, std::size_t i, std::size_t at) const {
        Reg t[4];
        V::load_four(streams_.inputs + i * lanes, at, t);
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) V::store(vectors[b][i], t[b], Whole{});
    }
    WARPAES_INLINE void store_line(const Vectors& vectors, std::size_t i, std::size_t at) const {
        Reg t[4];
        WARPAES_UNROLL
        for (std::size_t b = 0; b < 4; ++b) t[b] = V::load(vectors[b][i], Whole{});
        V::store_four(streams_.outputs + i * lanes, at, t);
    }

    /// Prefetches a quarter of the streams' input, if there are more streams than the hardware prefetcher can follow.
    /// Prefetching outputs as well would evict inputs.
    WARPAES_INLINE void prefetch(std::size_t part, std::size_t at) const {
        if constexpr (N * lanes >= 8) {
            constexpr std::size_t ahead = 192, n = N * lanes / 4;
            WARPAES_UNROLL
            for (std::size_t s = 0; s < n; ++s) __builtin_prefetch(streams_.inputs[part * n + s] + at + ahead);
        }
    }

    WARPAES_INLINE void block(Reg (&state)[N], std::size_t at) const {
        Reg out[N];
        cipher(
            state,
            [&](std::size_t i) __attribute__((always_inline)) { return V::load_each(streams_.inputs + i * lanes, at); },
            out);
        if constexpr (has_output) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) V::store_each(streams_.outputs + i * lanes, at, out[i]);
        }
    }

    template <class Text>
    WARPAES_INLINE void cipher(Reg (&state)[N], Text text, Reg (&out)[N]) const {
        if constexpr (!keys_in_registers) asm volatile("" ::: "memory");
        typename V::State s[N];
        with_keys(
            0, [&](std::size_t i, Reg key) __attribute__((always_inline)) {
                if constexpr (text_first) {
                    s[i] = V::sum(state[i], text(i), key);
                } else {
                    s[i] = V::sum(state[i], key);
                }
            });
        WARPAES_UNROLL
        for (int r = 1; r < Rounds; ++r) {
            with_keys(
                r, [&](std::size_t i, Reg key) __attribute__((always_inline)) { s[i] = V::aesenc(s[i], key); });
        }
        with_keys(
            Rounds, [&](std::size_t i, Reg key) __attribute__((always_inline)) {
                if constexpr (Kind == StreamKind::cfb128) {
                    out[i] = state[i] = V::value(V::aesenclast(s[i], V::bxor(key, text(i))));
                } else if constexpr (Kind == StreamKind::ofb) {
                    state[i] = V::value(V::aesenclast(s[i], key));
                    out[i] = V::bxor(state[i], text(i));
                } else {
                    out[i] = state[i] = V::value(V::aesenclast(s[i], key));
                }
            });
    }

    /// Calls f(i, round key) for every vector i.
    template <class F>
    WARPAES_INLINE void with_keys(int round, const F& f) const {
        if constexpr (OneKey) {
            const Reg key = round_key<V>(streams_.key, round);
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) f(i, key);
        } else {
            const std::uint8_t* const keys =
                streams_.keys + static_cast<std::size_t>(round) * keyed_vectors<V> * V::bytes;
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) f(i, V::load(keys + i * V::bytes, Whole{}));
        }
    }

    const SimdStreams& streams_;
};

template <class V, int Rounds, StreamKind Kind>
void step_streams_of_kind(const SimdStreams& streams) {
    if (streams.key != nullptr) {
        if (streams.vectors_used == 8) return StreamSteps<V, Rounds, Kind, 8, true>(streams).run();
        if (streams.vectors_used == 4) return StreamSteps<V, Rounds, Kind, 4, true>(streams).run();
        return StreamSteps<V, Rounds, Kind, 1, true>(streams).run();
    }
    if constexpr (keyed_vectors<V> == 8) {
        if (streams.vectors_used == 8) return StreamSteps<V, Rounds, Kind, 8, false>(streams).run();
    }
    if (streams.vectors_used == 4) return StreamSteps<V, Rounds, Kind, 4, false>(streams).run();
    StreamSteps<V, Rounds, Kind, 1, false>(streams).run();
}

template <class V, int Rounds>
void step_streams_of_rounds(const SimdStreams& streams) {
    switch (streams.kind) {
    case StreamKind::cbc:
        return step_streams_of_kind<V, Rounds, StreamKind::cbc>(streams);
    case StreamKind::cfb128:
        return step_streams_of_kind<V, Rounds, StreamKind::cfb128>(streams);
    case StreamKind::ofb:
        return step_streams_of_kind<V, Rounds, StreamKind::ofb>(streams);
    case StreamKind::mac:
        return step_streams_of_kind<V, Rounds, StreamKind::mac>(streams);
    }
}

template <class V>
void step_streams(const SimdStreams& streams) {
    with_rounds(streams.rounds, [&]<int Rounds>() { step_streams_of_rounds<V, Rounds>(streams); });
}

}  // namespace warpaes::cpu
