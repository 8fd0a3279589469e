// Every number that decides how a kernel is launched, with where and when it was measured.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the CTR kernel (see ctr.cuh): more share B(g), and take registers and
/// instruction cache. H200, 2026-11, AES-128, 1 GiB, GB/s: for any alignment, width 1: 804, 2: 896, 4: 913, 8: 876
/// (spills); the aligned kernel, 2: 919, 4: 922.
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
    // H200, 2026-11, AES-128, 1 GiB, GB/s: 1024 threads: ECB 770, CTR 922; 768 threads: ECB 770, CTR 914.
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    return {tables, 1024, static_cast<int>(units < most ? (units == 0 ? 1 : units) : most)};
}

}  // namespace warpaes::cuda
