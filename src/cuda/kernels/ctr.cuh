// CTR with counter caching.
//
// The first rounds are nearly identical for two counters that differ only in their last byte. Let j be byte 15 of the
// counter block and g byte 14; bytes 0 to 13 stay the same for 65,536 blocks. Byte 15 is row 3 of column 3 and byte 14
// is row 2 of column 3, so ShiftRows moves j only to column 0 and g only to column 1. After round 1, with T-tables:
//
//     t0(j) = c0 ^ T3[j ^ k],  t1(g) = c1 ^ T2[g ^ k'],  t2 and t3 fixed.
//
// In round 2, each column uses one byte of every column of the state, and the four lookups are added. Therefore
//
//     state after round 2 = A(j) ^ B(g),   A(j) = (T0[t0.0], T3[t0.3], T2[t0.2], T1[t0.1]),
//                                          B(g) = (T1[t1.1], T0[t1.0], T3[t1.3], T2[t1.2]) ^ the terms of t2, t3
//                                          and the round key.
//
// A lane always has the same few values of j, so A(j) stays in its registers for 65,536 blocks. B(g) takes five lookups
// for every unit of work (see below). Each block then needs only round 3 and later rounds: 128 lookups for AES-128
// instead of 160.
#pragma once

#include "aes/counter.hpp"
#include "aes/types.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// The parts of the first two rounds that are the same for 65,536 consecutive counters.
template <int Tables>
struct CounterPrefix {
    std::uint32_t c0{}, c1{};  ///< t0 without j, t1 without g
    uint4 c{};                 ///< round 2 without t0 and t1

    /// `counter` is a counter block whose last two bytes are zero. `k` contains the round keys.
    __device__ __forceinline__ void set(const SharedTables<Tables>& t, uint4 counter, const std::uint32_t* k) {
        const uint4 s = counter ^ make_uint4(k[0], k[1], k[2], k[3]);
        c0 = t.template lookup<0, 0>(s.x) ^ t.template lookup<1, 1>(s.y) ^ t.template lookup<2, 2>(s.z) ^ k[4];
        c1 = t.template lookup<0, 0>(s.y) ^ t.template lookup<1, 1>(s.z) ^ t.template lookup<3, 3>(s.x) ^ k[5];
        const std::uint32_t t2 = t.template lookup<0, 0>(s.z) ^ t.template lookup<1, 1>(s.w) ^
                                 t.template lookup<2, 2>(s.x) ^ t.template lookup<3, 3>(s.y) ^ k[6];
        const std::uint32_t t3 = t.template lookup<0, 0>(s.w) ^ t.template lookup<1, 1>(s.x) ^
                                 t.template lookup<2, 2>(s.y) ^ t.template lookup<3, 3>(s.z) ^ k[7];
        c = make_uint4(t.template lookup<2, 2>(t2) ^ t.template lookup<3, 3>(t3) ^ k[8],
                       t.template lookup<1, 1>(t2) ^ t.template lookup<2, 2>(t3) ^ k[9],
                       t.template lookup<0, 0>(t2) ^ t.template lookup<1, 1>(t3) ^ k[10],
                       t.template lookup<0, 0>(t3) ^ t.template lookup<3, 3>(t2) ^ k[11]);
    }

    __device__ __forceinline__ uint4 a(const SharedTables<Tables>& t, std::uint32_t j, const std::uint32_t* k) const {
        return a(t, c0, j, k);
    }
    /// Returns A(j), computed only from `c0`, for kernels that do not have enough registers for the whole prefix.
    static __device__ __forceinline__ uint4 a(const SharedTables<Tables>& t, std::uint32_t c0, std::uint32_t j,
                                              const std::uint32_t* k) {
        const std::uint32_t t0 = c0 ^ t.template lookup<3, 3>(k[3] ^ (j << 24));
        return make_uint4(t.template lookup<0, 0>(t0), t.template lookup<3, 3>(t0), t.template lookup<2, 2>(t0),
                          t.template lookup<1, 1>(t0));
    }

    __device__ __forceinline__ uint4 b(const SharedTables<Tables>& t, std::uint32_t g, const std::uint32_t* k) const {
        const std::uint32_t t1 = c1 ^ t.template lookup<2, 2>(k[3] ^ (g << 16));
        return c ^ make_uint4(t.template lookup<1, 1>(t1), t.template lookup<0, 0>(t1), t.template lookup<3, 3>(t1),
                              t.template lookup<2, 2>(t1));
    }
};

/// Returns `initial` with its last 16 bits set to zero, plus `steps` times 65,536 (modulo 2^128).
__device__ __forceinline__ uint4 counter_prefix(uint4 initial, std::uint64_t steps) {
    Counter c{(static_cast<std::uint64_t>(byte_swap(initial.x)) << 32) | byte_swap(initial.y),
              (static_cast<std::uint64_t>(byte_swap(initial.z)) << 32) | (byte_swap(initial.w) & 0xffff0000u)};
    const std::uint64_t low = c.low + (steps << 16);
    c.high += (steps >> 48) + (low < c.low ? 1u : 0u);
    c.low = low;
    return make_uint4(byte_swap(static_cast<std::uint32_t>(c.high >> 32)),
                      byte_swap(static_cast<std::uint32_t>(c.high)), byte_swap(static_cast<std::uint32_t>(c.low >> 32)),
                      byte_swap(static_cast<std::uint32_t>(c.low)));
}

/// Counter blocks as in SP 800-38A: the whole block is one 128-bit big-endian number.
struct BigEndianCounter {
    template <int Tables>
    using Prefix = CounterPrefix<Tables>;

    /// The last 16 bits of the counter.
    static __device__ __forceinline__ std::uint32_t low_bits(uint4 counter) { return byte_swap(counter.w) & 0xffffu; }
    static __device__ __forceinline__ uint4 prefix(uint4 initial, std::uint64_t steps) {
        return counter_prefix(initial, steps);
    }
};

/// Calls `unit_of(index, a, b)` for every unit of work of the warp: `Width` groups of 32 blocks under one value of g.
/// This lane's block in group i has the number `index + 32 i` in the message, counted from 0, and its state after two
/// rounds is a[i] ^ b. For positions before the message's first block, the number wraps around and exceeds every valid
/// number. 256 blocks consist of 8 / Width units.
///
/// Thread blocks own contiguous ranges of units, and their warps process the units in turn. The number of warps is a
/// multiple of 8 / Width, so that the bits of j that depend on the unit never change for a warp, and A(j) stays in
/// registers.
template <int Width, typename Order = BigEndianCounter, int Tables, typename Unit>
__device__ __forceinline__ void walk_counters(const SharedTables<Tables>& tables, uint4 counter, std::uint64_t blocks,
                                              const std::uint32_t* keys, const Unit& unit_of) {
    static_assert(8 % Width == 0);
    constexpr unsigned unit_blocks = Width * warp_lanes;
    constexpr unsigned units_per_g = 256 / unit_blocks;
    const unsigned lane = lane_id();

    // Positions are counted from the initial counter with its last 16 bits set to zero; the message begins at position
    // `skew`.
    const std::uint32_t skew = Order::low_bits(counter);
    const std::uint64_t first_unit = skew / unit_blocks;
    const std::uint64_t end_unit = (skew + blocks + unit_blocks - 1) / unit_blocks;
    const std::uint64_t units = end_unit - first_unit;
    const std::uint64_t stop = first_unit + units * (blockIdx.x + 1) / gridDim.x;
    const unsigned warps = blockDim.x / warp_lanes;

    std::uint64_t prefix_of = ~std::uint64_t{0};
    typename Order::template Prefix<Tables> prefix;
    uint4 a[Width];
    for (std::uint64_t unit = first_unit + units * blockIdx.x / gridDim.x + threadIdx.x / warp_lanes; unit < stop;
         unit += warps) {
        const std::uint64_t position = unit * unit_blocks;
        if ((position >> 16) != prefix_of) {
            prefix_of = position >> 16;
            prefix.set(tables, Order::prefix(counter, prefix_of), keys);
            const std::uint32_t j = static_cast<std::uint32_t>(unit % units_per_g) * unit_blocks + lane;
#pragma unroll
            for (int i = 0; i < Width; ++i) a[i] = prefix.a(tables, j + i * warp_lanes, keys);
        }
        unit_of(position + lane - skew, a, prefix.b(tables, static_cast<std::uint32_t>(position >> 8) & 0xff, keys));
    }
}

/// `Aligned` means that both pointers are multiples of 16, which is the usual case. The compiler then omits the code
/// for other alignments.
template <int Rounds, int Tables, int Width, bool Aligned, typename Order = BigEndianCounter>
__global__ void __launch_bounds__(most_table_threads, 1) ctr_kernel(const __grid_constant__ Params p) {
    const std::uint32_t alignment = Aligned ? 16 : p.alignment;
    const SharedTables<Tables> tables;
    tables.fill(te0_table);

    const std::uint64_t whole = p.length / block_bytes;
    const auto rest = static_cast<unsigned>(p.length % block_bytes);
    walk_counters<Width, Order>(
        tables, p.chain, whole + (rest != 0), p.round_keys, [&](std::uint64_t index, const uint4(&a)[Width], uint4 b) {
            const std::uint8_t* in = p.input + index * block_bytes;
            std::uint8_t* out = p.output + index * block_bytes;
#pragma unroll
            for (int i = 0; i < Width; ++i) {
                const std::uint64_t at = index + i * warp_lanes;
                uint4 text{};
                if (at < whole) text = load_block(in + i * warp_lanes * block_bytes, alignment);
                const uint4 key_stream = rounds_from<false, Rounds, 3>(tables, a[i] ^ b, p.round_keys);
                if (at < whole) store_block(out + i * warp_lanes * block_bytes, key_stream ^ text, alignment);
                if (at == whole && rest != 0) {
                    xor_partial_block(out + i * warp_lanes * block_bytes, in + i * warp_lanes * block_bytes, key_stream,
                                      rest);
                }
            }
        });
}

}  // namespace warpaes::cuda
