// GCM-SIV (RFC 8452): its key stream, and blocks whose bytes are reversed, of which POLYVAL is GHASH.
#pragma once

#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"

namespace warpaes::cuda {

/// Counter blocks begin with a little-endian number of 32 bits, which wraps: the state's first column. ShiftRows brings
/// one byte of it into each column, so of round 1 four lookups are a block's, and twelve the message's.
template <int Tables>
class SivCounter {
public:
    __device__ __forceinline__ SivCounter(const SharedTables<Tables>& t, uint4 first, const std::uint32_t* k)
        : tables_(t), number_(first.x), k0_(k[0]) {
        const std::uint32_t y = first.y ^ k[1], z = first.z ^ k[2], w = first.w ^ k[3];
        fixed_ =
            make_uint4(t.template lookup<1, 1>(y) ^ t.template lookup<2, 2>(z) ^ t.template lookup<3, 3>(w) ^ k[4],
                       t.template lookup<0, 0>(y) ^ t.template lookup<1, 1>(z) ^ t.template lookup<2, 2>(w) ^ k[5],
                       t.template lookup<0, 0>(z) ^ t.template lookup<1, 1>(w) ^ t.template lookup<3, 3>(y) ^ k[6],
                       t.template lookup<0, 0>(w) ^ t.template lookup<2, 2>(y) ^ t.template lookup<3, 3>(z) ^ k[7]);
    }
    /// After round 1, of the block that is `at` after the first.
    __device__ __forceinline__ uint4 state(std::uint64_t at) const {
        const std::uint32_t x = (number_ + static_cast<std::uint32_t>(at)) ^ k0_;
        return fixed_ ^ make_uint4(tables_.template lookup<0, 0>(x), tables_.template lookup<3, 3>(x),
                                   tables_.template lookup<2, 2>(x), tables_.template lookup<1, 1>(x));
    }

private:
    const SharedTables<Tables>& tables_;
    std::uint32_t number_, k0_;
    uint4 fixed_;
};

template <int Rounds, int Tables>
__global__ void __launch_bounds__(1024, 1) siv_ctr_kernel(const __grid_constant__ Params p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_constant);

    const std::uint64_t whole = p.length / block_bytes;
    const auto rest = static_cast<unsigned>(p.length % block_bytes);
    const SivCounter<Tables> counter(tables, p.chain, p.round_keys);
    const std::uint64_t step = global_warps() * warp_lanes;
    for (std::uint64_t at = global_warp() * warp_lanes + lane_id(); at < whole + (rest != 0); at += step) {
        const std::uint8_t* const in = p.input + at * block_bytes;
        std::uint8_t* const out = p.output + at * block_bytes;
        uint4 text{};
        if (at < whole) text = load_block_early(in, p.alignment);
        const uint4 key_stream = rounds_from<false, Rounds, 2>(tables, counter.state(at), p.round_keys);
        if (at < whole) {
            store_block(out, text ^ key_stream, p.alignment);
        } else {
            xor_partial_block(out, in, key_stream, rest);
        }
    }
}

}  // namespace warpaes::cuda
