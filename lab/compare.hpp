// Two records side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// A figure that both records have.
struct Compared {
    std::string experiment, panel, series;  ///< `panel` is "" for a fact, whose name `series` is
    std::string place;                      ///< on x, of a surface on x and y: "64 KiB", "192 threads"; "" for a fact
    std::string unit;
    double a, b;
    std::optional<double> ratio;  ///< b / a; none if a is 0
    /// They are further apart than either spread is wide, and the spreads do not meet. Without spreads, not known.
    std::optional<bool> differs;
};

struct Comparison {
    std::vector<Compared> figures;
    std::size_t only_a = 0, only_b = 0;  ///< figures that the other does not have
};

/// Everything but what was published: that is the same everywhere.
Comparison compare(const Record& a, const Record& b);

/// 65536 with the unit "B" as "64 KiB"; "" behind it if there is none.
std::string place_name(const Axis& axis, std::size_t index);

}  // namespace lab
