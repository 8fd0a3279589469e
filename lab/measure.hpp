// Samples and what is said of them.
#pragma once

#include <functional>
#include <vector>

#include "lab/result.hpp"

namespace lab {

/// Of the samples of one measurement.
struct Summary {
    double median = 0, low = 0, high = 0;  ///< quartiles
    std::size_t samples = 0;
};
Summary summarize(std::vector<double> samples);

/// How long to go on: at least `least` samples, then until `seconds` have passed, never more than `most`.
struct Effort {
    std::size_t least = 5, most = 31;
    double seconds = 0.2;
};
inline Effort effort(bool quick) {
    return quick ? Effort{3, 7, 0.02} : Effort{};
}

/// Seconds of one call of `work` each, after one call that is not counted. `work` returns the seconds it took: by the
/// clock of whoever can tell, the host's or events on a GPU.
Summary sample(const Effort& effort, const std::function<double()>& work);
/// Several subjects in turns, so that whatever drifts drifts for all.
std::vector<Summary> sample_in_turns(const Effort& effort, const std::vector<std::function<double()>>& works);

/// Seconds by the host's clock.
double time_of(const std::function<void()>& work);

/// Rates: `amount` per second, with low and high exchanged as they must be.
Summary rate(double amount, const Summary& seconds);

/// In another unit: each figure `factor` times as large.
Summary scaled(const Summary& figure, double factor);

/// Appends a figure to a series.
void add(Series& series, const Summary& figure);
void add_none(Series& series);

}  // namespace lab
