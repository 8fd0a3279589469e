// ECB in both directions, CBC and CFB128 decryption of many messages: one thread per block. Each warp has a contiguous
// stretch of all blocks, whatever messages they belong to. See blocks.cuh for the ciphertext before each block.
#pragma once

#include "cuda/kernels/batch_walk.cuh"
#include "cuda/kernels/blocks.cuh"

namespace warpaes::cuda {

/// Blocks of a message, including a partial one.
struct BlocksOfText {
    const BatchParams& p;
    __device__ __forceinline__ std::uint64_t operator()(std::uint32_t group) const {
        const std::uint64_t length = p.groups[group].length;
        return length / block_bytes + (length % block_bytes != 0);
    }
};

template <Mode M, Direction D, int Rounds, int Tables, bool OneKey>
__global__ void __launch_bounds__(1024, 1) batch_blocks_kernel(const __grid_constant__ BlockParams p) {
    constexpr bool inverse = uses_inverse_cipher(M, D);
    constexpr bool chained = chains_on_ciphertext(M, D);
    constexpr bool partial = M == Mode::cfb128;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);

    const unsigned lane = lane_id();
    const Stretch stretch(p.batch.units, global_warp(), global_warps());
    if (stretch.first >= stretch.last) return;

    BlockWalk walk;
    std::uint64_t unit = stretch.first + lane;
    const BlocksOfText blocks_of{p.batch};
    walk.begin(p.batch, unit < p.batch.units ? unit : p.batch.units - 1, blocks_of);

    // Lane 31 carries the ciphertext block before the current 32 blocks.
    uint4 carried{};
    if (chained && lane == 0 && walk.block() != 0) {
        const BatchGroup& g = p.batch.groups[walk.group()];
        const std::uint8_t* before =
            global(g.input) + walk.message() * g.input_stride + (walk.block() - 1) * block_bytes;
        carried = p.boundaries != nullptr ? p.boundaries[global_warp()] : load_block(before);
    }
    if constexpr (chained) carried = shuffle(carried, 0);

    for (std::uint64_t first = stretch.first; first < stretch.last; first += warp_lanes, unit += warp_lanes) {
        const bool works = unit < p.batch.units;
        if (works && first != stretch.first) walk.advance(p.batch, unit, blocks_of);
        const BatchGroup& g = p.batch.groups[walk.group()];
        const std::uint64_t offset = walk.block() * block_bytes;
        const std::uint8_t* in = global(g.input) + walk.message() * g.input_stride + offset;
        std::uint8_t* out = global(g.output) + walk.message() * g.output_stride + offset;
        const std::uint32_t alignment = alignment_of(in, out);
        const bool whole = works && (!partial || offset + block_bytes <= g.length);
        uint4 text{};
        if (whole) text = load_block(in, alignment);

        uint4 previous{};
        if constexpr (chained) {
            previous = shuffle(lane == warp_lanes - 1 ? carried : text,
                               static_cast<int>((lane + warp_lanes - 1) % warp_lanes));
            carried = text;
            if (works && offset == 0) previous = load_iv(g, walk.message());
        }
        if (works) {
            const auto key = key_of<OneKey>(p.batch, g, walk.message());
            if constexpr (M == Mode::ecb) {
                store_block(out, cipher_with<inverse, Rounds>(tables, text, key), alignment);
            } else if constexpr (M == Mode::cbc) {
                store_block(out, cipher_with<inverse, Rounds>(tables, text, key) ^ previous, alignment);
            } else {
                const uint4 key_stream = cipher_with<false, Rounds>(tables, previous, key);
                if (whole) {
                    store_block(out, key_stream ^ text, alignment);
                } else {
                    xor_partial_block(out, in, key_stream, static_cast<unsigned>(g.length % block_bytes), alignment);
                }
            }
        }
        __syncwarp();
    }
}

}  // namespace warpaes::cuda
