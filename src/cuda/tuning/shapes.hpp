// Shapes of launches, for a device with its limits and its launch table.
//
// The parameters of kernel launches are in this folder, one file for each family of kernels. Parameters that may differ
// on another GPU are in its LaunchTable, which is its architecture's table (architectures.hpp) or a tuned table. The
// measurements for all parameters, on both sides of each threshold, are in bench/results/launches (checked by the test
// project.tuning).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/launch_table.hpp"

namespace warpaes::cuda {

/// The properties of a device that determine kernel launches.
struct DeviceLimits {
    int multiprocessors;
    int shared_bytes_per_block;  ///< opt-in limit
    int compute_capability;      ///< 90 for 9.0
    std::size_t l2_bytes;
    BitProducts bit_products;
    LaunchTable table;
};

struct LaunchShape {
    int grid;                      ///< thread blocks
    int threads;                   ///< per thread block
    std::size_t shared_bytes = 0;  ///< dynamic shared memory per thread block
    int tables = 0;                ///< T-tables in shared memory: 4, 2 or 1; 0: the kernel uses no tables

    [[nodiscard]] constexpr std::uint64_t warps() const { return static_cast<std::uint64_t>(grid * threads / 32); }
};

/// Kernels that do little work for each item, with any number of items.
struct ThreadEach {
    static constexpr int threads = 256, blocks_each = 16;  ///< thread blocks per multiprocessor
};

/// One thread for each of `count` items, in at most `most` thread blocks per multiprocessor.
constexpr LaunchShape thread_each(const DeviceLimits& device, std::uint64_t count, int threads, int most) {
    const auto in_block = static_cast<std::uint64_t>(threads);
    const auto blocks = static_cast<std::uint64_t>(most * device.multiprocessors);
    return {static_cast<int>(std::min((count + in_block - 1) / in_block, blocks)), threads};
}

/// Returns the launch table's number of T-tables, or two if that many do not fit in addition to `beside` bytes of other
/// shared memory.
constexpr int tables_for(const DeviceLimits& device, std::size_t beside = 0) {
    const std::size_t bytes = device.table.tables * table_bytes_each + beside;
    return bytes <= static_cast<std::size_t>(device.shared_bytes_per_block) ? static_cast<int>(device.table.tables) : 2;
}

/// The maximum size of a thread block, and the limit for LaunchTable::threads.
inline constexpr int most_table_threads = 1024;
/// The shared memory of the smallest table layout; a GPU with less shared memory is not used.
inline constexpr int least_shared_bytes = 64 * 1024;

constexpr int threads_of(const DeviceLimits& device) {
    return static_cast<int>(device.table.threads);
}
constexpr std::uint64_t warps_of(const DeviceLimits& device) {
    return static_cast<std::uint64_t>(device.multiprocessors * threads_of(device) / 32);
}

/// Persistent thread blocks with T-tables, at most one per multiprocessor. `units` is the number of pieces of work,
/// each of which occupies a warp.
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units, int threads) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const int tables = tables_for(device);
    return {static_cast<int>(std::clamp<std::uint64_t>(units, 1, most)), threads, tables * table_bytes_each, tables};
}
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units) {
    return launch_shape(device, units, threads_of(device));
}

}  // namespace warpaes::cuda
