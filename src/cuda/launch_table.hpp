// Every number that decides how a kernel is launched, with where and when it was measured.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the CTR kernel (see ctr.cuh): more share B(g), and take registers and
/// instruction cache.
inline constexpr int ctr_width = 4;

/// What a kernel launch needs to know about a device.
struct DeviceLimits {
    int multiprocessors;
    int shared_bytes_per_block;  ///< opt-in limit
};

struct LaunchShape {
    int tables;   ///< T-tables stored in shared memory: 4 or 2
    int threads;  ///< per thread block
    int grid;     ///< thread blocks; one a multiprocessor at most, they are persistent
};

/// `units`: pieces of work that a warp takes on its own.
constexpr LaunchShape launch_shape(const DeviceLimits& device, bool serial, std::uint64_t units) {
    const int tables = device.shared_bytes_per_block >= 128 * 1024 ? 4 : 2;
    // One working thread; the others help to fill the tables.
    if (serial) return {tables, 256, 1};
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    return {tables, 1024, static_cast<int>(units < most ? (units == 0 ? 1 : units) : most)};
}

}  // namespace warpaes::cuda
