// The launch figures of each architecture: one row for each known architecture, and one row for later architectures.
// The values for the H200 were measured. The other values have never been used on hardware; they are derived from the
// size of shared memory and from nvcc's machine code.
#pragma once

#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

struct Architecture {
    int compute_capability;  ///< 90 for 9.0; the row applies up to the next row of the same major number
    BitProducts bit_products;
    LaunchTable table;
};

/// If bit products are emulated, each product is a subroutine of about 110 instructions, and a warp needs sixteen of
/// them for 512 bytes. GHASH with integer products takes fewer instructions than these subroutines. The instructions
/// were counted, and the times were not measured (nvcc 13.0, 2026-11).
inline constexpr LaunchTable without_tensor_cores{
    .one_launch_share = 0, .tensor_blocks = never, .own_key_tensor_bytes = never};

constexpr LaunchTable with_two_tables(LaunchTable table) {
    table.tables = 2;
    return table;
}

inline constexpr Architecture architectures[] = {
    {75, BitProducts::none, with_two_tables(without_tensor_cores)},  //  64 KiB per thread block: T4, RTX 20, GTX 16
    {80, BitProducts::mma, {}},                                      // 163 KiB: A100
    {86, BitProducts::mma, with_two_tables({})},                     //  99 KiB: RTX 30, A10, A40
    {87, BitProducts::mma, {}},                                      // 163 KiB: Orin
    {89, BitProducts::mma, with_two_tables({})},                     //  99 KiB: RTX 40, L4, L40
    {90, BitProducts::wgmma, {}},                                    // 227 KiB: H100, H200; measured
    {100, BitProducts::emulated, without_tensor_cores},              // 227 KiB: B200; also for 10.3
    {110, BitProducts::emulated, without_tensor_cores},              // 227 KiB: Thor
    {120, BitProducts::emulated, with_two_tables(without_tensor_cores)},  //  99 KiB: RTX 50; also for 12.1
};
inline constexpr Architecture what_follows{0, BitProducts::emulated, without_tensor_cores};

constexpr Architecture architecture_of(int compute_capability) {
    Architecture found = compute_capability < 75 ? architectures[0] : what_follows;
    for (const Architecture& row : architectures) {
        const bool is_related = row.compute_capability / 10 == compute_capability / 10;
        if (is_related && row.compute_capability <= compute_capability) found = row;
    }
    return found;
}

/// Returns the limits of a device, combined with its architecture's launch table and as many T-tables as fit.
constexpr DeviceLimits limits_of(int multiprocessors, int shared_bytes_per_block, int compute_capability,
                                 std::size_t l2_bytes = 0) {
    const Architecture row = architecture_of(compute_capability);
    DeviceLimits limits{multiprocessors, shared_bytes_per_block, compute_capability,
                        l2_bytes,        row.bit_products,       row.table};
    limits.table.tables = static_cast<std::uint32_t>(tables_for(limits));
    return limits;
}

}  // namespace warpaes::cuda
