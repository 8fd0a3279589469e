// Serial modes for many messages at once. Each block of a message waits for the block before it, so the pipeline is
// filled with blocks of different messages, one message per lane, each with its own round keys.
#pragma once

#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// Processes N vectors of streams, four blocks of each stream at a time. Four blocks are one cache line: streams at
/// power-of-two distances compete for the same cache sets, so a line may be evicted before its next use.
template <class V, int Rounds, StreamKind Kind, std::size_t N>
class StreamSteps {
public:
    WARPAES_INLINE explicit StreamSteps(const SimdStreams& streams) : streams_(streams) {}

    WARPAES_INLINE void run() {
        Reg state[N];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) state[i] = V::load(streams_.chains + i * V::bytes, Whole{});
        std::size_t at = 0;
        for (const std::size_t end = 16 * (streams_.steps / 4 * 4); at < end; at += 64) four_blocks(state, at);
        for (const std::size_t end = 16 * streams_.steps; at < end; at += 16) block(state, at);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) V::store(streams_.chains + i * V::bytes, state[i], Whole{});
    }

private:
    using Reg = typename V::Reg;
    static constexpr std::size_t lanes = V::bytes / 16;
    static constexpr bool text_first = Kind == StreamKind::cbc || Kind == StreamKind::mac;

    WARPAES_INLINE void four_blocks(Reg (&state)[N], std::size_t at) {
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            Reg t[4];
            V::load_four(streams_.inputs + i * lanes, at, t);
            WARPAES_UNROLL
            for (std::size_t b = 0; b < 4; ++b) V::store(text_[b][i], t[b], Whole{});
        }
        for (std::size_t b = 0; b < 4; ++b) {
            prefetch(b, at);
            Reg out[N];
            cipher(
                state, [&](std::size_t i) __attribute__((always_inline)) { return V::load(text_[b][i], Whole{}); },
                out);
            if constexpr (Kind != StreamKind::mac) {
                WARPAES_UNROLL
                for (std::size_t i = 0; i < N; ++i) V::store(text_[b][i], out[i], Whole{});
            }
        }
        if constexpr (Kind != StreamKind::mac) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) {
                Reg t[4];
                WARPAES_UNROLL
                for (std::size_t b = 0; b < 4; ++b) t[b] = V::load(text_[b][i], Whole{});
                V::store_four(streams_.outputs + i * lanes, at, t);
            }
        }
    }

    /// Prefetches a quarter of the streams' input, if there are more streams than the hardware prefetcher follows.
    /// Prefetching outputs too would evict inputs.
    WARPAES_INLINE void prefetch(std::size_t quarter, std::size_t at) const {
        if constexpr (N * lanes >= 8) {
            constexpr std::size_t ahead = 192, n = N * lanes / 4;
            WARPAES_UNROLL
            for (std::size_t s = 0; s < n; ++s) __builtin_prefetch(streams_.inputs[quarter * n + s] + at + ahead);
        }
    }

    WARPAES_INLINE void block(Reg (&state)[N], std::size_t at) {
        Reg out[N];
        cipher(
            state,
            [&](std::size_t i) __attribute__((always_inline)) { return V::load_each(streams_.inputs + i * lanes, at); },
            out);
        if constexpr (Kind != StreamKind::mac) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) V::store_each(streams_.outputs + i * lanes, at, out[i]);
        }
    }

    template <class Text>
    WARPAES_INLINE void cipher(Reg (&state)[N], Text text, Reg (&out)[N]) {
        typename V::State s[N];
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            if constexpr (text_first) {
                s[i] = V::sum(state[i], text(i), key(0, i));
            } else {
                s[i] = V::sum(state[i], key(0, i));
            }
        }
        WARPAES_UNROLL
        for (int r = 1; r < Rounds; ++r) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) s[i] = V::aesenc(s[i], key(r, i));
        }
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            if constexpr (Kind == StreamKind::cfb128) {
                out[i] = state[i] = V::value(V::aesenclast(s[i], V::bxor(key(Rounds, i), text(i))));
            } else if constexpr (Kind == StreamKind::ofb) {
                state[i] = V::value(V::aesenclast(s[i], key(Rounds, i)));
                out[i] = V::bxor(state[i], text(i));
            } else {
                out[i] = state[i] = V::value(V::aesenclast(s[i], key(Rounds, i)));
            }
        }
    }

    WARPAES_INLINE Reg key(int round, std::size_t i) const {
        return V::load(streams_.keys + (static_cast<std::size_t>(round) * SimdStreams::vectors + i) * V::bytes,
                       Whole{});
    }

    const SimdStreams& streams_;
    alignas(64) std::uint8_t text_[4][N][V::bytes];
};

template <class V, int Rounds, StreamKind Kind>
void step_streams_of_kind(const SimdStreams& streams) {
    if (streams.vectors_used == 8) return StreamSteps<V, Rounds, Kind, 8>(streams).run();
    if (streams.vectors_used == 4) return StreamSteps<V, Rounds, Kind, 4>(streams).run();
    if (streams.vectors_used == 2) return StreamSteps<V, Rounds, Kind, 2>(streams).run();
    StreamSteps<V, Rounds, Kind, 1>(streams).run();
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
