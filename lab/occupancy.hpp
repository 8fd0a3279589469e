// The occupancy calculator: how many warps of a kernel a multiprocessor holds at once, and which resource limits that
// number (CUDA C++ Programming Guide, 5.2.3 and 16).
#pragma once

#include <algorithm>
#include <cstddef>

#include "lab/gpu/device.hpp"

namespace lab {

struct MultiprocessorLimits {
    unsigned threads, blocks, registers;
    std::size_t shared, shared_reserved_per_block;
    unsigned register_unit;  ///< allocation granularity of a warp's registers
    unsigned warp_unit;      ///< registers are allocated to this many warps at a time
    std::size_t shared_unit;
};

/// Compute capability 2.1: [D]'s GT 525M.
inline constexpr MultiprocessorLimits fermi_21{1536, 8, 32768, 48 * 1024, 0, 64, 2, 128};

/// Returns the limits of a device with compute capability 7.0 or newer.
inline MultiprocessorLimits limits_of(const gpu::Properties& p) {
    return {static_cast<unsigned>(p.threads_per_multiprocessor),
            static_cast<unsigned>(p.blocks_per_multiprocessor),
            static_cast<unsigned>(p.registers_per_multiprocessor),
            p.shared_per_multiprocessor,
            p.shared_reserved_per_block,
            256,
            4,
            128};
}

struct Occupancy {
    enum class Limit { threads, blocks, registers, shared };
    unsigned blocks = 0, warps = 0;
    Limit limit = Limit::threads;
};

/// Returns the occupancy for thread blocks of `threads` threads with `registers` registers per thread and `shared`
/// bytes of shared memory per thread block.
constexpr Occupancy occupancy(const MultiprocessorLimits& m, unsigned threads, unsigned registers, std::size_t shared) {
    const auto up = [](auto value, auto unit) { return (value + unit - 1) / unit * unit; };
    const unsigned warps = (threads + 31) / 32;
    const unsigned by_threads = m.threads / 32 / warps;
    const unsigned of_warp = up(std::max(registers, 1u) * 32, m.register_unit);
    const unsigned by_registers = m.registers / of_warp / m.warp_unit * m.warp_unit / warps;
    const std::size_t taken = up(shared, m.shared_unit) + m.shared_reserved_per_block;
    const unsigned by_shared = taken == 0 ? by_threads : static_cast<unsigned>(m.shared / taken);
    Occupancy o;
    o.blocks = std::min({by_threads, m.blocks, by_registers, by_shared});
    o.warps = o.blocks * warps;
    o.limit = o.blocks == by_threads     ? Occupancy::Limit::threads
              : o.blocks == m.blocks     ? Occupancy::Limit::blocks
              : o.blocks == by_registers ? Occupancy::Limit::registers
                                         : Occupancy::Limit::shared;
    return o;
}

}  // namespace lab
