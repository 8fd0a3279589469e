// Parameters of the cost model from measurements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cost_model.hpp"

namespace warpaes {

/// One measurement of a kind of work.
struct Measured {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 1;
    std::uint64_t longest = 0;
    std::uint64_t keys = 1;
    double seconds = 0;
};

/// Which parameters there are besides the bytes' own. What is left out stays 0.
struct FitTerms {
    bool fixed = true;
    bool messages = false;
    bool keys = false;
    bool serial = false;
    double in_flight = 0;  ///< see Cost
};

/// The cost whose predictions differ the least from the measurements, in squares of relative errors, with no parameter
/// below 0. Spans beyond the largest measurement cost what the last one measured does; between neighbours that the
/// measurements do not tell apart the cost of a byte is the same. At least one measurement, with more than 0 seconds.
Cost fit_cost(std::span<const Measured> measured, const FitTerms& terms);

/// x ≥ 0 that minimises |Ax - b|² (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23). `a`: rows.
std::vector<double> solve_nonnegative(const std::vector<std::vector<double>>& a, const std::vector<double>& b);

/// Median of |predicted / measured - 1|.
double median_error(const Cost& cost, std::span<const Measured> measured);

}  // namespace warpaes
