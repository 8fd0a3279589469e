// Fits the parameters of the cost model to measurements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cost_model.hpp"

namespace warpaes {

/// One measurement of one kind of work.
struct Measured {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 1;
    std::uint64_t longest = 0;
    std::uint64_t keys = 1;
    double seconds = 0;
};

/// The parameters to fit, in addition to the costs per byte. All other parameters stay 0.
struct FitTerms {
    bool fixed = true;
    bool messages = false;
    bool keys = false;
    bool serial = false;
    double in_flight = 0;  ///< see Cost
};

/// Returns the cost with the least sum of squared relative errors for the measurements, with all parameters
/// nonnegative. Spans beyond the largest measurement cost as much as the last measured span. Adjacent spans that the
/// measurements do not distinguish get the same cost per byte. Requires at least one measurement, with more than 0
/// seconds.
Cost fit_cost(std::span<const Measured> measured, const FitTerms& terms);

/// Returns x ≥ 0 that minimises |Ax - b|² (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23). `a`
/// contains the rows of A.
std::vector<double> solve_nonnegative(const std::vector<std::vector<double>>& a, const std::vector<double>& b);

/// Returns the median of |predicted / measured - 1|.
double median_error(const Cost& cost, std::span<const Measured> measured);

}  // namespace warpaes
