// What of a GPU's launches is a choice, and not a kernel's own: figures, which an architecture's row gives
// (cuda/architectures.hpp) and `warpaes tune` replaces by what it measures. No figure changes a byte of any result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warpaes {

/// Of a limit from which on something is done: it never is.
inline constexpr std::uint32_t never = ~std::uint32_t{0};

/// With the H200's values. Where and when they were measured stands in cuda/launch_table.hpp, where they are used.
struct LaunchTable {
    std::uint32_t tables = 4;
    std::uint32_t threads = 1024;
    std::uint32_t own_key_threads = 512;
    std::uint32_t serial_warps = 2;
    std::uint32_t product_blocks = 2;
    std::uint32_t one_launch_share = 8192;
    std::uint32_t two_tables_share = 1024;
    std::uint32_t tensor_blocks = 512;
    std::uint32_t own_key_tensor_bytes = 16384;
    std::uint32_t long_counter_bytes = 16384;

    bool operator==(const LaunchTable&) const = default;
};

/// How a GPU multiplies matrices of bits.
enum class BitProducts : std::uint8_t {
    none,      ///< before 8.0
    emulated,  ///< by a subroutine of products of bytes: nvcc 13 makes that of `mma.sync` for 10.0 and later
    mma,       ///< 8.x and 9.0: one instruction
    wgmma      ///< 9.0's own besides
};

/// A GPU, as far as launches are concerned.
struct GpuShape {
    std::string name;  ///< of its costs (CostModel::table_name)
    std::uint32_t compute_capability = 0;
    std::uint32_t multiprocessors = 0;
    std::uint32_t shared_bytes = 0;  ///< that a thread block can have
    BitProducts bit_products = BitProducts::none;
};

/// A figure: its name, what it is, and what is worth trying.
struct LaunchFigure {
    const char* name;
    std::uint32_t LaunchTable::*value;
    const char* meaning;
    std::array<std::uint32_t, 4> candidates;
    std::size_t candidate_count;
    std::uint32_t least, most, step;  ///< a multiple of `step` in these bounds
    bool or_never;                    ///< or `never`

    [[nodiscard]] std::span<const std::uint32_t> worth_trying() const { return {candidates.data(), candidate_count}; }
};
[[nodiscard]] std::span<const LaunchFigure> launch_figures() noexcept;

/// Why `gpu` cannot be launched on so, as a sentence that names the figure; empty if it can.
[[nodiscard]] std::string objection(const LaunchTable& table, const GpuShape& gpu);

/// 4096 as "4096", and `never` by its name.
[[nodiscard]] std::string figure_text(std::uint32_t value);

}  // namespace warpaes
