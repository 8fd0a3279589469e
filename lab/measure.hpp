// Takes samples of measurements and computes their statistics.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "lab/result.hpp"

namespace lab {

/// Statistics of one measurement's samples.
struct Summary {
    double median = 0, low = 0, high = 0;  ///< low, high: quartiles
    std::size_t samples = 0;
};
Summary summarize(std::vector<double> samples);

/// When to stop sampling: once `seconds` have passed, but after at least `least` and at most `most` samples.
struct Effort {
    std::size_t least = 5, most = 31;
    double seconds = 0.2;
};
inline Effort effort(bool quick) {
    return quick ? Effort{3, 7, 0.02} : Effort{};
}

/// Measures the seconds of single calls of `work`, after a warm-up call that is not counted. `work` returns the seconds
/// that it took, by the host's clock or by events on a GPU.
Summary sample(const Effort& effort, const std::function<double()>& work);
/// Samples several subjects in turn, so that drift (clocks, temperature) affects all of them equally.
std::vector<Summary> sample_in_turns(const Effort& effort, const std::vector<std::function<double()>>& works);

/// The result of a sample_in_turns() that also measures the growth of `counter`, such as the processor time, during
/// each counted call.
struct Counted {
    std::vector<Summary> seconds, grown;
};
Counted sample_in_turns(const Effort& effort, const std::vector<std::function<double()>>& works,
                        const std::function<double()>& counter);

/// These functions return seconds by the host's clock: the time since `start`, and the time that `work` takes.
double seconds_since(std::chrono::steady_clock::time_point start);
double time_of(const std::function<void()>& work);

/// Converts seconds to rates, in units of `amount` per second. The highest rate comes from the lowest time.
Summary rate(double amount, const Summary& seconds);

/// Converts to another unit: multiplies each figure by `factor`.
Summary scaled(const Summary& figure, double factor);

/// Appends a figure to a series.
void add(Series& series, const Summary& figure);
void add_none(Series& series);

}  // namespace lab
