// The rounds of a variant: the computation of a thread on its share of a block, and its reads of the shares of other
// threads.
#pragma once

#include "aes/cipher.hpp"
#include "lab/gpu/lookup.cuh"

namespace lab::gpu {

/// Returns the number of threads per block.
constexpr unsigned team(const Variant& v) {
    return 16u / static_cast<unsigned>(v.bytes);
}

/// Returns the number of bytes of shared memory that follow the tables and keys. They contain one of the following:
/// states (in two buffers if threads exchange columns, so that one buffer is read while the other is written); shares
/// of columns, with the bytes of the state; staged text.
constexpr unsigned state_bytes(const Variant& v, unsigned threads) {
    if (v.staged) return 16 * threads;
    if (v.state == StateMemory::registers) return 0;
    if (v.bytes == 1) return (4 + 1) * threads;
    return static_cast<unsigned>(v.bytes) * threads * (v.exchange == Exchange::none ? 1 : 2);
}
constexpr unsigned shared_bytes(const Variant& v, unsigned threads) {
    return table_bytes(v) + key_bytes(v) + state_bytes(v, threads);
}
template <Variant V>
__device__ __forceinline__ unsigned char* state_memory() {
    return dynamic_shared() + table_bytes(V) + key_bytes(V);
}

/// The barrier of threads that share a block.
template <Variant V>
__device__ __forceinline__ void wait_for_team() {
    if constexpr (V.exchange == Exchange::barrier) __syncthreads();
    if constexpr (V.exchange == Exchange::warp_synchronous) __syncwarp();
}

/// The state. A thread owns `columns` columns of the state, beginning with column `first`. Shared memory is volatile.
/// Otherwise, the compiler would detect that a thread without partners reads only its own writes, and would keep the
/// state in registers.
template <Variant V>
class State {
public:
    static constexpr int columns = V.bytes / 4;

    __device__ __forceinline__ State()
        : first_(threadIdx.x % team(V) * static_cast<unsigned>(columns)), block_(threadIdx.x / team(V)) {}

    [[nodiscard]] __device__ __forceinline__ unsigned first() const { return first_; }

    /// Publishes this thread's columns of round `r` to the other threads of the block, and reads their columns.
    __device__ __forceinline__ void put(int r, const std::uint32_t (&own)[columns]) {
        if constexpr (V.state != StateMemory::registers) {
            volatile std::uint32_t* const to = buffer(V.exchange == Exchange::none ? 0 : r);
#pragma unroll
            for (unsigned i = 0; i < columns; ++i) {
                const unsigned at = slot(first_ + i);
                if constexpr (V.access == Access::words) {
                    to[at] = own[i];
                } else {
                    volatile auto* const bytes = reinterpret_cast<volatile unsigned char*>(to + at);
#pragma unroll
                    for (unsigned b = 0; b < 4; ++b) bytes[b] = static_cast<unsigned char>(own[i] >> (8 * b));
                }
            }
            wait_for_team<V>();
            from_ = to;
            if constexpr (V.access == Access::words) {
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) all_[i] = from_[slot((first_ + i) % 4)];
            }
        } else {
#pragma unroll
            for (int i = 0; i < columns; ++i) all_[i] = own[i];
            if constexpr (V.bytes == 8) {
                all_[2] = __shfl_xor_sync(~0u, own[0], 1);
                all_[3] = __shfl_xor_sync(~0u, own[columns - 1], 1);
            } else if constexpr (V.bytes == 4) {
#pragma unroll
                for (unsigned i = 1; i < 4; ++i) {
                    all_[i] = __shfl_sync(~0u, own[0], static_cast<int>((threadIdx.x + i) % 4), 4);
                }
            }
        }
    }

    /// Returns a word with byte `Row` of column first + c, which is at byte taken<Row> of the word.
    template <int Row>
    [[nodiscard]] __device__ __forceinline__ std::uint32_t take(unsigned c) const {
        if constexpr (by_bytes) {
            return reinterpret_cast<const volatile unsigned char*>(from_ + slot((first_ + c) % 4))[Row];
        } else {
            return all_[c % 4];
        }
    }
    template <int Row>
    static constexpr int taken = (V.access == Access::bytes && V.state != StateMemory::registers) ? 0 : Row;

private:
    static constexpr bool by_bytes = V.access == Access::bytes && V.state != StateMemory::registers;

    [[nodiscard]] __device__ __forceinline__ unsigned slot(unsigned column) const {
        return V.state == StateMemory::shared_aos ? 4 * block_ + column : column * (blockDim.x / team(V)) + block_;
    }
    static __device__ __forceinline__ volatile std::uint32_t* buffer(int r) {
        auto* const states = reinterpret_cast<std::uint32_t*>(state_memory<V>());
        return states + static_cast<unsigned>(r % 2) * blockDim.x * static_cast<unsigned>(columns);
    }

    unsigned first_, block_;
    std::uint32_t all_[4];
    volatile const std::uint32_t* from_;
};

/// One round, without the round key, for column `i` of a thread (FIPS 197, 5.1; for the equivalent inverse
/// cipher, 5.3.5).
template <Entry E, bool Last>
__device__ __forceinline__ std::uint32_t column_of(const Lookup<E.variant, E.cipher.inverse>& tables,
                                                   const State<E.variant>& state, unsigned i) {
    using S = State<E.variant>;
    constexpr unsigned step = E.cipher.inverse ? 3 : 1;
    const std::uint32_t w0 = state.template take<0>(i), w1 = state.template take<1>(i + step),
                        w2 = state.template take<2>(i + 2 * step), w3 = state.template take<3>(i + 3 * step);
    constexpr int b0 = S::template taken<0>, b1 = S::template taken<1>, b2 = S::template taken<2>,
                  b3 = S::template taken<3>;
    if constexpr (Last || E.variant.table_count == 0) {
        const std::uint32_t substituted = tables.template s<b0, b1, b2, b3>(w0, w1, w2, w3);
        if constexpr (Last) return substituted;
        return E.cipher.inverse ? warpaes::detail::inv_mix_column(substituted)
                                : warpaes::detail::mix_column(substituted);
    } else {
        return tables.template t<0, b0>(w0) ^ tables.template t<1, b1>(w1) ^ tables.template t<2, b2>(w2) ^
               tables.template t<3, b3>(w3);
    }
}

/// Runs the cipher on a thread's columns (16, 8 or 4 bytes). All threads of the team must call this function or, with
/// Exchange::barrier, all threads of the thread block.
template <Entry E>
__device__ __forceinline__ void run_rounds(const Lookup<E.variant, E.cipher.inverse>& tables,
                                           const Keys<E.variant>& keys,
                                           std::uint32_t (&own)[State<E.variant>::columns]) {
    constexpr int columns = State<E.variant>::columns, rounds = E.cipher.rounds;
    State<E.variant> state;
    const unsigned first = columns == 4 ? 0 : state.first();
#pragma unroll
    for (unsigned i = 0; i < columns; ++i) own[i] ^= keys[first + i];
    state.put(0, own);
#pragma unroll
    for (int r = 1; r < rounds; ++r) {
#pragma unroll
        for (unsigned i = 0; i < columns; ++i) {
            own[i] = column_of<E, false>(tables, state, i) ^ keys[4 * static_cast<unsigned>(r) + first + i];
        }
        state.put(r, own);
    }
#pragma unroll
    for (unsigned i = 0; i < columns; ++i) own[i] = column_of<E, true>(tables, state, i) ^ keys[4 * rounds + first + i];
}

/// Runs the cipher with one byte of the block per thread. Thread j owns row j % 4 of column j / 4. In each round, every
/// thread looks up one word, and the four threads of a column combine their words by XOR.
template <Entry E>
__device__ __forceinline__ std::uint32_t run_rounds(const Lookup<E.variant, E.cipher.inverse>& tables,
                                                    const Keys<E.variant>& keys, std::uint32_t own) {
    constexpr Variant v = E.variant;
    constexpr int rounds = E.cipher.rounds;
    const unsigned j = threadIdx.x % 16, row = j % 4, column = j / 4;
    const unsigned source = (column + (E.cipher.inverse ? 4 - row : row)) % 4 * 4 + row;
    // Per block: 16 column shares, and 16 bytes of state.
    unsigned char* const memory = state_memory<v>();
    volatile auto* const shares = reinterpret_cast<volatile std::uint32_t*>(memory) + threadIdx.x - j;
    volatile unsigned char* const state = memory + 4 * blockDim.x + threadIdx.x - j;
    const auto key = [&](int r) { return keys[4 * static_cast<unsigned>(r) + column] >> (8 * row) & 0xff; };
    const auto moved = [&]() -> std::uint32_t {
        if constexpr (E.variant.exchange == Exchange::shuffle) {
            return __shfl_sync(~0u, own, static_cast<int>(source), 16);
        } else {
            state[j] = static_cast<unsigned char>(own);
            wait_for_team<E.variant>();
            return state[source];
        }
    };

    own ^= key(0);
#pragma unroll
    for (int r = 1; r < rounds; ++r) {
        const std::uint32_t share = tables.t(row, moved());
        if constexpr (v.exchange == Exchange::shuffle) {
            const std::uint32_t half = share ^ __shfl_xor_sync(~0u, share, 1);
            own = (half ^ __shfl_xor_sync(~0u, half, 2)) >> (8 * row) & 0xff;
        } else {
            shares[j] = share;
            wait_for_team<v>();
            own = 0;
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                own ^= reinterpret_cast<volatile unsigned char*>(shares + 4 * column + i)[row];
            }
        }
        own ^= key(r);
    }
    const std::uint32_t x = moved();
    if constexpr (v.persistent) wait_for_team<v>();  // the next block's state overwrites this state
    return tables.s(x) ^ key(rounds);
}

}  // namespace lab::gpu
