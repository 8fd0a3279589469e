// A single GCM message, and segments under the same key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the key stream (see gcm_ctr.cu, and ctr_width).
inline constexpr int gcm_ctr_width = 4;

/// How the windows of 256 counters of GCM segments are distributed among warps (see gcm_ctr.cu). A round is one task
/// for every warp. The shape minimizes the estimated time: few rounds, and tasks as short as possible for this number
/// of rounds. Starting a task costs about as much as half a window.
struct WindowShape {
    std::uint64_t parts;    ///< number of parts into which the windows of a segment are divided
    std::uint64_t windows;  ///< number of windows per part
};

constexpr WindowShape window_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t windows) {
    const std::uint64_t streams = segments * (8 / gcm_ctr_width);
    const std::uint64_t warps = warps_of(device);
    WindowShape best{1, windows};
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint64_t rounds = (streams + warps - 1) / warps, tries = 0; tries < 8; ++rounds, ++tries) {
        const std::uint64_t each = (windows + rounds * warps / streams - 1) / (rounds * warps / streams);
        const std::uint64_t time = rounds * (2 * each + 1);
        if (time >= least) continue;
        least = time;
        best = {(windows + each - 1) / each, each};
    }
    return best;
}

/// One GCM message in one launch.
struct GcmMessage {
    static constexpr int threads = 512;
    static constexpr unsigned warps = threads / 32;
    static constexpr unsigned slots = 16;  ///< number of slots, each of which contains four powers of H
    static constexpr unsigned radix = 16;  ///< base of a thread block's number, which has two digits in a large grid

    /// Shared memory after the tables: the powers, a weight and a sum for each warp, and two more elements.
    static constexpr std::size_t shared_bytes(bool wide) {
        return slots * (wide ? 4096 : 1024) + (2 * warps + 2) * block_bytes;
    }
    /// At most one thread block per multiprocessor.
    static constexpr std::uint64_t grid_limit(const DeviceLimits& device) {
        return std::min<std::uint64_t>(static_cast<std::uint64_t>(device.multiprocessors), radix * radix);
    }
};

/// A short message (gcm_short.cu). A thread block processes 128 blocks of the message, or 256 if there would otherwise
/// be more thread blocks than multiprocessors.
struct GcmShort {
    static constexpr unsigned least_share = 128, most_share = 256, most_groups = most_share / 32;
    static constexpr int most_threads = 2 * most_share + 32;

    /// `blocks` includes a partial block.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= most_share * GcmMessage::grid_limit(device);
    }
    static constexpr unsigned share(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= least_share * GcmMessage::grid_limit(device) ? least_share : most_share;
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t blocks) {
        const unsigned each = share(device, blocks), groups = each / 32;
        const std::uint64_t grid = blocks == 0 ? 1 : (blocks + each - 1) / each;
        // The threads are for the text, for E(J0) and for the weights. The shared memory is for the weights, for one
        // sum per warp of text and for E(J0).
        return {static_cast<int>(grid), static_cast<int>(2 * each + 32),
                table_bytes_each + (each + groups + 1) * block_bytes, 1};
    }
};

/// A message of medium length (gcm_medium.cu).
struct GcmMedium : GcmMessage {
    static constexpr unsigned rows = 8 * warps, half_row = 2 * slots;  ///< a row is one or two half rows, in blocks
    static constexpr std::uint64_t least_share = 256, most_share = 2 * rows * half_row;  ///< blocks per thread block
};

struct GcmMediumShape {
    LaunchShape launch;
    std::uint32_t share;       ///< blocks per thread block; the first thread block processes the remainder
    std::uint32_t row_blocks;  ///< blocks per row

    /// `blocks` is the number of whole blocks in the message.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        const std::size_t least = 2 * table_bytes_each + GcmMedium::shared_bytes(GhashMma::wide(device));
        const std::uint64_t share = std::min<std::uint64_t>(device.table.one_launch_share, GcmMedium::most_share);
        return share != 0 && least <= static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks <= share * GcmMessage::grid_limit(device);
    }
};

/// `blocks` is the number of whole blocks in the message.
constexpr GcmMediumShape gcm_medium_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        (blocks + GcmMedium::least_share - 1) / GcmMedium::least_share, 1, GcmMessage::grid_limit(device));
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    const std::uint64_t grid = share == 0 ? 1 : (blocks + share - 1) / share;
    const std::size_t beside = GcmMedium::shared_bytes(GhashMma::wide(device));
    // For small shares, filling four tables takes longer than the time that the tables save.
    const int tables = share <= device.table.two_tables_share ? 2 : tables_for(device, beside);
    return {{static_cast<int>(grid), GcmMedium::threads, tables * table_bytes_each + beside, tables},
            static_cast<std::uint32_t>(share),
            share <= GcmMedium::rows * GcmMedium::half_row ? GcmMedium::half_row : 2 * GcmMedium::half_row};
}

/// A long message (gcm_long.cu), on tensor cores that read their matrices from shared memory.
struct GcmLong : GcmMessage {
    static constexpr unsigned groups =
        warps / 4;  ///< number of groups, each of four warps, which process a window together
    static constexpr unsigned windows = slots / 2;    ///< windows of a group per chunk
    static constexpr unsigned stride = groups * 256;  ///< blocks from a group's window to its next window
    static constexpr std::size_t tables = 4;
    /// The number of blocks per multiprocessor at which this kernel becomes faster than gcm_medium.cu.
    static constexpr std::uint64_t least_share = 1536;

    /// `blocks` is the number of whole blocks in the message, whose buffers must be aligned to 16 bytes.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return GhashMma::wide(device) && device.table.tensor_blocks != never &&
               tables * table_bytes_each + shared_bytes(true) <=
                   static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks >= stride * grid_limit(device) &&
               blocks > std::min<std::uint64_t>(least_share, device.table.one_launch_share) * grid_limit(device);
    }
};

struct GcmLongShape {
    LaunchShape launch;
    std::uint32_t share;  ///< windows of 256 counters per thread block; the first thread block processes the remainder
};

constexpr GcmLongShape gcm_long_shape(const DeviceLimits& device, std::uint64_t windows) {
    const std::uint64_t limit = GcmMessage::grid_limit(device);
    const std::uint64_t share = (windows + limit - 1) / limit;
    return {{static_cast<int>((windows + share - 1) / share), GcmLong::threads,
             GcmLong::tables * table_bytes_each + GcmLong::shared_bytes(true), static_cast<int>(GcmLong::tables)},
            static_cast<std::uint32_t>(share)};
}

}  // namespace warpaes::cuda
