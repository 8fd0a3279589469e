#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash.cuh"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

namespace {

/// One warp per row. A lane processes every 32nd block and applies Horner's rule with H^32. At the end it multiplies by
/// H^(32 - lane), which accounts for the blocks after its last block.
__global__ void __launch_bounds__(GhashProducts::threads) ghash_rows_kernel(const __grid_constant__ RowParams p) {
    const unsigned lane = lane_id();
    const std::uint64_t rows = p.text.count * p.rows;
    for (std::uint64_t row = global_warp(); row < rows; row += global_warps()) {
        const std::uint64_t segment = row / p.rows;
        const std::uint64_t missing = p.rows * p.row_blocks - p.text.bytes_of(segment) / block_bytes;
        const std::uint8_t* data = p.text.data + segment * p.text.stride;
        FieldElement y;
        // The position in the segment including its leading zeros; the first `missing` positions are zeros.
        std::uint64_t at = row % p.rows * p.row_blocks + lane;
        for (std::uint64_t step = 0; step < p.row_blocks; step += warp_lanes, at += warp_lanes) {
            if (step != 0) y = product(y, p.powers[warp_lanes - 1]);
            if (at < missing) continue;
            const uint4 block = load_block(data + (at - missing) * block_bytes, p.text.alignment);
            y = y ^ element_of(p.text.reversed ? reversed(block) : block);
        }
        y = sum_over_warp(product(y, p.powers[warp_lanes - 1 - lane]));
        if (lane != 0) continue;
        if (p.digests == nullptr) {
            finish_segment(p.text, p.finish, segment, y);
        } else {
            p.digests[row] = block_of(y);
        }
    }
}

/// 2^log_lanes lanes per output. Only the powers in `squares` are available, so adjacent lanes are combined in pairs,
/// then pairs of pairs, and so on.
__global__ void __launch_bounds__(GhashCombine::threads) ghash_combine_kernel(const __grid_constant__ CombineParams p) {
    const unsigned lanes = 1u << p.log_lanes, lane = lane_id() % lanes, per_warp = warp_lanes / lanes;
    const std::uint64_t all = p.text.count * p.outputs;
    const std::uint64_t missing = p.outputs * p.steps * lanes - p.per_segment;
    for (std::uint64_t first = global_warp() * per_warp; first < all; first += global_warps() * per_warp) {
        const std::uint64_t output = first + lane_id() / lanes;
        const bool valid = output < all;
        uint4* const digests = p.digests + output / p.outputs * p.per_segment;
        FieldElement y;
        std::uint64_t at = output % p.outputs * p.steps * lanes + lane;
        for (std::uint32_t step = 0; step < p.steps; ++step, at += lanes) {
            if (step != 0) y = product(y, p.squares[p.log_lanes]);
            if (valid && at >= missing) y = y ^ element_of(take(digests + (at - missing)));
        }
#pragma unroll 1
        for (unsigned i = 0; i < p.log_lanes; ++i) {
            const FieldElement right = shuffle_down(y, 1u << i);
            y = product(y, p.squares[i]) ^ right;
        }
        if (lane == 0 && valid) {
            if (p.outputs == 1) {
                finish_segment(p.text, p.finish, output, y);
            } else {
                p.combined[output] = block_of(y);
            }
        }
        __syncwarp();
    }
}

}  // namespace

Kernel<RowParams> ghash_rows_kernel_for() {
    return &ghash_rows_kernel;
}

Kernel<CombineParams> ghash_combine_kernel_for() {
    return &ghash_combine_kernel;
}

}  // namespace warpaes::cuda
