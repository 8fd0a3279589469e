// ECB in both directions, CBC decryption and CFB128 decryption: one thread per block, and one contiguous stretch of the
// message per warp.
//
// CBC and CFB decryption require the ciphertext block before each block. Within a warp's stretch, that block comes from
// the adjacent lane, so in-place work never reads blocks that it has already overwritten. The block before a stretch
// belongs to another warp; for in-place work, it is saved beforehand (save_boundaries).
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// The blocks that a warp processes: all warps of the grid share the message's groups of 32 blocks as evenly as
/// possible.
struct Stretch {
    std::uint64_t first;
    std::uint64_t last;  ///< one past the last block; may be beyond the end of the message

    __host__ __device__ Stretch(std::uint64_t blocks, std::uint64_t warp, std::uint64_t warps) {
        const std::uint64_t groups = (blocks + warp_lanes - 1) / warp_lanes;
        first = groups * warp / warps * warp_lanes;
        last = groups * (warp + 1) / warps * warp_lanes;
    }
};

template <Mode M, Direction D, int Rounds, int Tables>
__global__ void __launch_bounds__(most_table_threads, 1) blocks_kernel(const __grid_constant__ Params p) {
    constexpr bool inverse = uses_inverse_cipher(M, D);
    constexpr bool chained = chains_on_ciphertext(M, D);
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);

    const unsigned lane = lane_id();
    const std::uint64_t whole = p.length / block_bytes;
    const auto rest = static_cast<unsigned>(p.length % block_bytes);
    const std::uint64_t blocks = whole + (rest != 0);
    const Stretch stretch(blocks, global_warp(), global_warps());
    if (stretch.first >= stretch.last) return;

    const std::uint8_t* in = p.input + (stretch.first + lane) * block_bytes;
    std::uint8_t* out = p.output + (stretch.first + lane) * block_bytes;
    const auto load = [&](std::uint64_t at, const std::uint8_t* from) {
        return at < whole ? load_block(from, p.alignment) : make_uint4(0, 0, 0, 0);
    };

    // Lane 31 carries the ciphertext block before the current group.
    uint4 carried = p.chain;
    if (chained && stretch.first != 0) {
        carried = p.boundaries != nullptr ? p.boundaries[global_warp()]
                                          : load_block(p.input + (stretch.first - 1) * block_bytes, p.alignment);
    }

    uint4 next = load(stretch.first + lane, in);
    for (std::uint64_t at = stretch.first + lane; at < stretch.last; at += warp_lanes) {
        const uint4 text = next;
        in += warp_lanes * block_bytes;
        if (at + warp_lanes < stretch.last) next = load(at + warp_lanes, in);

        uint4 previous{};
        if constexpr (chained) {
            previous = shuffle(lane == warp_lanes - 1 ? carried : text,
                               static_cast<int>((lane + warp_lanes - 1) % warp_lanes));
            carried = text;
        }
        uint4 result;
        if constexpr (M == Mode::ecb) {
            result = cipher<inverse, Rounds>(tables, text, p.round_keys);
        } else if constexpr (M == Mode::cbc) {
            result = cipher<inverse, Rounds>(tables, text, p.round_keys) ^ previous;
        } else {
            const uint4 key_stream = cipher<false, Rounds>(tables, previous, p.round_keys);
            result = key_stream ^ text;
            if (at == whole && rest != 0) {
                xor_partial_block(out, in - warp_lanes * block_bytes, key_stream, rest);
            }
        }
        if (at < whole) store_block(out, result, p.alignment);
        out += warp_lanes * block_bytes;
    }
}

}  // namespace warpaes::cuda
