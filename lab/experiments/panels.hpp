// Short constructors for panels, axes and series, and functions that format figures.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/measure.hpp"
#include "lab/result.hpp"

namespace lab::experiments {

inline Axis categories(std::string name, std::vector<std::string> labels) {
    return {std::move(name), "", Axis::Scale::category, {}, std::move(labels)};
}
inline Axis numbers(std::string name, std::string unit, Axis::Scale scale, std::vector<double> values) {
    return {std::move(name), std::move(unit), scale, std::move(values), {}};
}
/// Returns the x axis for lines over sizes.
inline Axis sizes(std::string name, std::span<const std::size_t> bytes) {
    return numbers(std::move(name), "B", Axis::Scale::log, {bytes.begin(), bytes.end()});
}
inline Axis throughput() {
    return {"throughput", "GB/s", Axis::Scale::linear, {}, {}};
}

inline Series measured(std::string name) {
    return {std::move(name), Series::Role::measured, {}, {}};
}
inline Series baseline(std::string name) {
    return {std::move(name), Series::Role::baseline, {}, {}};
}
inline Series model(std::string name, std::vector<std::optional<double>> values) {
    return {std::move(name), Series::Role::model, std::move(values), {}};
}
inline Series published(std::string name, std::vector<std::optional<double>> values) {
    return {std::move(name), Series::Role::published, std::move(values), {}};
}

inline Panel bars(std::string title, Axis x, Axis y, std::string note) {
    return {std::move(title), Panel::Kind::bars, std::move(x), std::move(y), {}, {}, std::move(note)};
}
inline Panel lines(std::string title, Axis x, Axis y, std::string note) {
    return {std::move(title), Panel::Kind::lines, std::move(x), std::move(y), {}, {}, std::move(note)};
}

/// Formats a factor as "1.8 times" or "14 times".
inline std::string times(double factor) {
    return factor < 9.95 ? fmt::format("{:.1f} times", factor) : fmt::format("{:.0f} times", factor);
}
/// Speeds that differ by less than this factor count as equal.
inline constexpr double same_within = 1.015;
/// Compares speed `a` with speed `b`: "30 % faster", "20 % slower", "as fast" or "5.2 times as fast".
inline std::string how_fast(double a, double b) {
    const double percent = (a / b - 1) * 100;
    if (percent >= 100) return times(a / b) + " as fast";
    if (a < same_within * b && b < same_within * a) return "as fast";
    if (percent < -99) return fmt::format("{:.1f} % slower", -percent);
    return percent > 0 ? fmt::format("{:.0f} % faster", percent) : fmt::format("{:.0f} % slower", -percent);
}
/// Like how_fast(), but followed by "than" or "as".
inline std::string compared(double a, double b) {
    const std::string how = how_fast(a, b);
    return how + (how.ends_with('t') ? " as" : " than");
}
/// Formats a rate as "35.2 GB/s" or "812 GB/s".
inline std::string gb_per_s(double rate) {
    return rate < 99.95 ? fmt::format("{:.3g} GB/s", rate) : fmt::format("{:.0f} GB/s", rate);
}
/// Formats 65536 as "64 KiB".
inline std::string size_name(std::size_t bytes) {
    if (bytes >= 1u << 30 && bytes % (1u << 30) == 0) return fmt::format("{} GiB", bytes >> 30);
    if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
    if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
    return fmt::format("{} B", bytes);
}

}  // namespace lab::experiments
