// Axes that many panels have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/result.hpp"

namespace lab {

/// Lengths in bytes, on a logarithmic scale.
inline Axis lengths_axis(const std::string& name, std::span<const std::uint64_t> bytes) {
    Axis axis{name, "B", Axis::Scale::log, {}, {}};
    for (const std::uint64_t n : bytes) axis.values.push_back(static_cast<double>(n));
    return axis;
}

inline Axis categories_axis(const std::string& name, std::vector<std::string> labels) {
    return {name, "", Axis::Scale::category, {}, std::move(labels)};
}

/// An axis that carries figures.
inline Axis figures_axis(const std::string& name, const std::string& unit, Axis::Scale scale = Axis::Scale::linear) {
    return {name, unit, scale, {}, {}};
}

/// GB/s of plaintext.
inline Axis throughput_axis(Axis::Scale scale = Axis::Scale::linear) {
    return figures_axis("throughput", "GB/s", scale);
}

}  // namespace lab
