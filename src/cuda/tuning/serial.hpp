// Serial modes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

inline constexpr int serial_threads = 256;

/// One thread processes the message; the other threads help to fill the tables.
constexpr LaunchShape serial_shape(const DeviceLimits& device) {
    const int tables = tables_for(device);
    return {1, serial_threads, tables * table_bytes_each, tables};
}

/// Batches of serial modes (batch_serial.cu).
struct SerialBatchShape : LaunchShape {
    int warps;    ///< number of warps of a thread block that process messages
    bool staged;  ///< whether data goes through shared memory

    static constexpr int most_warps = 16, most_threads = 32 * most_warps;
    static constexpr std::size_t stage_bytes = 4096;  ///< per warp
    /// A single warp stalls on the latency of its lookups. Two warps take no longer than one, and leave more
    /// multiprocessors free for concurrent kernels.
    static constexpr std::uint64_t least_warps(const DeviceLimits& device) { return device.table.serial_warps; }
};

constexpr SerialBatchShape serial_batch_shape(const DeviceLimits& device, std::uint64_t messages) {
    const int tables = tables_for(device);
    const std::size_t table_bytes = tables * table_bytes_each;
    const std::size_t left = static_cast<std::size_t>(device.shared_bytes_per_block) - table_bytes;
    const std::uint64_t least = SerialBatchShape::least_warps(device);
    const bool staged = left >= least * SerialBatchShape::stage_bytes;
    const std::uint64_t all = (messages + 31) / 32,
                        multiprocessors = static_cast<std::uint64_t>(device.multiprocessors);
    const std::uint64_t most =
        staged ? std::min<std::uint64_t>(SerialBatchShape::most_warps, left / SerialBatchShape::stage_bytes)
               : SerialBatchShape::most_warps;
    const std::uint64_t warps = std::clamp((all + multiprocessors - 1) / multiprocessors, least, most);
    const std::uint64_t grid = std::clamp<std::uint64_t>((all + warps - 1) / warps, 1, multiprocessors);
    const std::size_t shared_bytes = table_bytes + (staged ? warps * SerialBatchShape::stage_bytes : 0);
    return {{static_cast<int>(grid), SerialBatchShape::most_threads, shared_bytes, tables},
            static_cast<int>(warps),
            staged};
}

}  // namespace warpaes::cuda
