// The figures of a launch table one by one: what they are called, what a tuning tries, and what a GPU takes. Not for
// .cu files: of pointers to members nvcc makes code that gcc warns of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/cuda_backend.hpp"

namespace warpaes {

/// A figure: its name, what it is, and what is worth trying.
struct LaunchFigure {
    const char* name;
    std::uint32_t LaunchTable::*value;
    const char* meaning;
    std::array<std::uint32_t, 4> candidates;
    std::size_t candidate_count;
    std::uint32_t least, most, step = 1;  ///< a multiple of `step` in these bounds
    bool or_never = false;                ///< or `never`

    [[nodiscard]] std::span<const std::uint32_t> worth_trying() const { return {candidates.data(), candidate_count}; }
};
[[nodiscard]] std::span<const LaunchFigure> launch_figures() noexcept;

/// Why `gpu` cannot be launched on so, as a sentence that names the figure; empty if it can.
[[nodiscard]] std::string objection(const LaunchTable& table, const GpuShape& gpu);

/// 4096 as "4096", and `never` by its name.
[[nodiscard]] std::string figure_text(std::uint32_t value);

}  // namespace warpaes
