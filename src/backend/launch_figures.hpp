// The individual figures of a launch table: their names, the values that a tuning run tries, and the limits of a GPU.
// .cu files must not include this header: gcc warns about the code that nvcc generates for pointers to members.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/gpu_tuning.hpp"

namespace warpaes {

/// One figure: its name, its meaning, and the values worth trying.
struct LaunchFigure {
    const char* name;
    std::uint32_t LaunchTable::*value;
    const char* meaning;
    std::array<std::uint32_t, 4> candidates;
    std::size_t candidate_count;
    std::uint32_t least, most, step = 1;  ///< the value is a multiple of `step` within these bounds
    bool or_never = false;                ///< the value may also be `never`

    [[nodiscard]] std::span<const std::uint32_t> worth_trying() const { return {candidates.data(), candidate_count}; }
};
[[nodiscard]] std::span<const LaunchFigure> launch_figures() noexcept;

/// Returns an empty string if `gpu` can use this table; otherwise a sentence that names the figure that prevents it.
[[nodiscard]] std::string objection(const LaunchTable& table, const GpuShape& gpu);

/// Returns "4096" for 4096, and the name of `never` for `never`.
[[nodiscard]] std::string figure_text(std::uint32_t value);

}  // namespace warpaes
