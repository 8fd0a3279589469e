// Comparison of two records, figure by figure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// A figure that both records contain.
struct Compared {
    std::string experiment, panel, series;  ///< `panel` is "" for a fact; `series` is then the fact's name
    std::string place;  ///< value on x (for a surface, on x and y): "64 KiB", "192 threads"; "" for a fact
    std::string unit;
    double a, b;
    std::optional<double> ratio;  ///< b / a; none if a is 0
    /// Whether `a` and `b` differ by more than the wider of their spreads, and the spreads do not overlap. None if `a`
    /// or `b` has no spread.
    std::optional<bool> differs;
};

struct Comparison {
    std::vector<Compared> figures;
    std::size_t only_a = 0, only_b = 0;  ///< number of figures that the other record does not contain
};

/// Compares all figures except the published figures, which are the same in every record.
Comparison compare(const Record& a, const Record& b);

/// Returns the label of a value on an axis. For example, 65536 with the unit "B" is "64 KiB". Without a unit, the label
/// is the plain number.
std::string place_name(const Axis& axis, std::size_t index);

}  // namespace lab
