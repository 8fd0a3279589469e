// GHASH for messages that take several launches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// The division of segments into rows for GHASH.
struct RowShape {
    bool tensor_cores;
    std::uint64_t rows;    ///< number of rows per segment
    std::uint64_t blocks;  ///< number of blocks per row
    LaunchShape launch;
};

constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t step) {
    return (n + step - 1) / step * step;
}

/// GHASH with integer products: one warp per row, in steps of 32 blocks.
struct GhashProducts {
    static constexpr int warps_per_block = 8, threads = 32 * warps_per_block;
    static constexpr std::uint64_t step = 32, least_row = 8 * step;
};

constexpr RowShape simt_row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    constexpr std::uint64_t step = GhashProducts::step, least = GhashProducts::least_row;
    constexpr int warps_per_block = GhashProducts::warps_per_block;
    const auto blocks_each = static_cast<int>(device.table.product_blocks);
    const auto warps = static_cast<std::uint64_t>(device.multiprocessors * blocks_each * warps_per_block);
    const std::uint64_t wanted = segments >= warps ? 1 : warps / segments;
    std::uint64_t each = (blocks + wanted - 1) / wanted;
    if (each < least) each = blocks < least ? blocks : least;
    each = rounded_up(each, step);
    const std::uint64_t rows = each == 0 ? 1 : (blocks + each - 1) / each;
    return {false, rows, each, thread_each(device, 32 * segments * rows, GhashProducts::threads, blocks_each)};
}

/// The kernel on tensor cores (ghash_mma.cuh).
struct GhashMma {
    static constexpr int slots = 16;  ///< groups of four blocks in a chunk
    static constexpr int stages = 2;  ///< batches of loads in flight
    static constexpr int batch = 4;   ///< groups per batch
    static constexpr int threads = 512;
    static constexpr std::uint64_t row_overhead = 32;  ///< cost of a row in addition to its blocks, in blocks
    static constexpr std::uint64_t least_row = 64;     ///< in blocks: one chunk
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return device.table.tensor_blocks != never && blocks >= device.table.tensor_blocks;
    }

    static constexpr bool wide(const DeviceLimits& device) { return device.bit_products == BitProducts::wgmma; }
    static constexpr std::size_t shared_bytes(const DeviceLimits& device) {
        return slots * (wide(device) ? 4096 : 1024);
    }
};

/// Minimizes the estimated time: few rounds of all warps, and rows as short as possible for this number of rounds.
constexpr RowShape mma_row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    constexpr std::uint64_t step = 4 * GhashMma::stages * GhashMma::batch, rows_per_block = GhashMma::threads / 32 * 8;
    const std::uint64_t round = static_cast<std::uint64_t>(device.multiprocessors) * rows_per_block;
    RowShape best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint64_t rounds = (segments + round - 1) / round, tries = 0; tries < 8; ++rounds, ++tries) {
        const std::uint64_t wanted = rounds * round / segments;
        const std::uint64_t each = std::max(rounded_up((blocks + wanted - 1) / wanted, step), GhashMma::least_row);
        const std::uint64_t time = rounds * (each + GhashMma::row_overhead);
        if (time >= least) continue;
        least = time;
        best = {true,
                (blocks + each - 1) / each,
                each,
                {device.multiprocessors, GhashMma::threads, GhashMma::shared_bytes(device)}};
    }
    const std::uint64_t rows = segments * best.rows, needed = (rows + rows_per_block - 1) / rows_per_block;
    if (needed < static_cast<std::uint64_t>(best.launch.grid)) best.launch.grid = static_cast<int>(needed);
    // wide_mma requires whole groups of four warps.
    if (needed == 1) best.launch.threads = static_cast<int>(rounded_up(rows * 4, 128));
    return best;
}

constexpr RowShape row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    if (blocks != 0 && GhashMma::takes(device, segments * blocks)) {
        return mma_row_shape(device, segments, blocks);
    }
    return simt_row_shape(device, segments, blocks);
}

/// Digests are combined in few levels, because a launch takes as long as four chained products.
struct GhashCombine {
    static constexpr std::uint64_t most = 256;  ///< maximum number of digests combined into one
    static constexpr int threads = 128, blocks_each = 16;
};

/// GHASH of long messages under their own keys (ghash_keys.cu).
struct GhashKeys {
    static constexpr int threads = 128, blocks_each = 3;  ///< thread blocks per multiprocessor
    static constexpr std::uint32_t rows_of_block = 32;
    static constexpr int power_threads = 256, power_blocks_each = 2;  ///< for the kernels that compute powers of H
    /// The cost of a row in addition to its blocks, in blocks: a product, and the row's share of the matrices.
    static constexpr std::uint32_t short_row = 32, short_row_overhead = 20, row_overhead = 32;

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return device.table.own_key_tensor_bytes != never && bytes >= device.table.own_key_tensor_bytes;
    }
    /// The limit for the scratch memory of the messages that are processed at once, so that this memory stays in the L2
    /// cache.
    static constexpr std::size_t scratch_bytes(const DeviceLimits& device) { return device.l2_bytes / 2; }
    /// The number of powers stored for a message: H^1 …, one for each block of a row or of a chunk, and H^row_blocks.
    static constexpr std::uint32_t powers_of(std::uint32_t row_blocks) {
        return std::min<std::uint32_t>(row_blocks, 4 * GhashMma::slots) + 1;
    }
    static constexpr std::size_t message_bytes(std::uint32_t rows, std::uint32_t row_blocks) {
        return (powers_of(row_blocks) + std::size_t{rows}) * block_bytes;
    }
    /// The number of lanes that combine the digests of a message.
    static constexpr std::uint64_t many_messages = 4096;
    static constexpr int lanes(std::uint64_t messages) { return messages >= many_messages ? 4 : 32; }
};

struct GhashKeysShape {
    std::uint32_t rows;
    std::uint32_t row_blocks;  ///< 32, or a multiple of 64
};

/// `blocks` is the number of whole blocks in the longest message.
constexpr GhashKeysShape ghash_keys_shape(const DeviceLimits& device, std::uint64_t messages, std::uint64_t blocks) {
    const std::uint64_t at_once = static_cast<std::uint64_t>(device.multiprocessors) * GhashKeys::blocks_each;
    GhashKeysShape best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (const std::uint32_t row : {32u, 64u, 128u, 192u, 256u}) {
        const std::uint64_t of_block = std::uint64_t{GhashKeys::rows_of_block} * row;
        const std::uint64_t parts = (blocks + of_block - 1) / of_block;
        // The last, incomplete round of thread blocks matters only if there are few rounds.
        const std::uint64_t all = parts * messages;
        const std::uint64_t rounds8 = all < 8 * at_once ? 8 * ((all + at_once - 1) / at_once) : 8 * all / at_once;
        const std::uint64_t time =
            rounds8 * (row + (row == GhashKeys::short_row ? GhashKeys::short_row_overhead : GhashKeys::row_overhead));
        if (time >= least) continue;
        least = time;
        best = {static_cast<std::uint32_t>(parts) * GhashKeys::rows_of_block, row};
    }
    return best;
}

}  // namespace warpaes::cuda
