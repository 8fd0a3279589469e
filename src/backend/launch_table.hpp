// The tunable figures of GPU launches. Each architecture has a row of default values (cuda/tuning/architectures.hpp),
// which `warpaes tune` replaces with measured values. Results do not depend on any figure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpaes {

/// Shared memory of one T-table, in bytes.
inline constexpr std::size_t table_bytes_each = 32 * 1024;

/// The value of a limit that is never reached.
inline constexpr std::uint32_t never = ~std::uint32_t{0};

/// The default values are the H200's; bench/results/launches contains their measurements.
struct LaunchTable {
    std::uint32_t tables = 4;
    std::uint32_t threads = 1024;
    std::uint32_t own_key_threads = 512;
    std::uint32_t serial_warps = 2;
    std::uint32_t product_blocks = 2;
    std::uint32_t one_launch_share = 8192;
    std::uint32_t two_tables_share = 1024;
    std::uint32_t tensor_blocks = 512;
    std::uint32_t own_key_tensor_bytes = 8192;
    std::uint32_t long_counter_bytes = 16384;

    bool operator==(const LaunchTable&) const = default;
};

/// How a GPU multiplies bit matrices.
enum class BitProducts : std::uint8_t {
    none,      ///< 7.5: the instruction combines bits only by XOR, not by AND
    emulated,  ///< 10.0 and later: for `mma.sync`, nvcc 13 generates a subroutine that multiplies bytes
    mma,       ///< 8.x and 9.0: one instruction
    wgmma      ///< 9.0 only, in addition to `mma`
};

}  // namespace warpaes
