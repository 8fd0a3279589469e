#include "lab/leak_test.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lab {

double welch_t(const Moments& a, const Moments& b) {
    if (a.count() < 2 || b.count() < 2) return 0;
    const double difference = a.mean() - b.mean();
    // Rounding may leave a variance slightly below zero.
    const double square = std::max(a.variance(), 0.0) / a.count() + std::max(b.variance(), 0.0) / b.count();
    if (square <= 0) return difference == 0 ? 0 : std::copysign(no_doubt, difference);
    return difference / std::sqrt(square);
}

LeakTest::LeakTest(std::vector<double> first) {
    if (first.empty()) throw std::invalid_argument("first: there are no times");
    std::sort(first.begin(), first.end());
    origin_ = first[first.size() / 2];
    for (std::size_t i = 0; i < crops; ++i) {
        // The thresholds of dudect are dense among the long times. The last threshold is at 99.9 %.
        const double share = 1 - std::pow(0.5, 10 * static_cast<double>(i + 1) / crops);
        const auto at = static_cast<std::size_t>(share * static_cast<double>(first.size()));
        thresholds_[i] = first[std::min(at, first.size() - 1)] - origin_;
    }
}

void LeakTest::add(unsigned kind, double time) {
    const double x = time - origin_;
    // A crop keeps the times that equal its threshold. If times vary little, most of them equal the threshold, and only
    // outliers would remain without them.
    const auto bucket = std::lower_bound(thresholds_.begin(), thresholds_.end(), x) - thresholds_.begin();
    buckets_[static_cast<std::size_t>(bucket)][kind].add(x);
    // The mean is unknown until enough times have been added.
    if (all_[kind].count() >= enough / 2) {
        const double distance = x - all_[kind].mean();
        squared_[kind].add(distance * distance);
    }
    all_[kind].add(x);
}

LeakTest::Outcome LeakTest::outcome() const {
    Outcome outcome;
    const double times = all_[0].count() + all_[1].count();
    outcome.times = static_cast<std::size_t>(times);
    outcome.fixed_mean = origin_ + all_[0].mean();
    outcome.random_mean = origin_ + all_[1].mean();
    outcome.deviation = std::sqrt(std::max(all_[1].variance(), 0.0));
    outcome.t = outcome.whole_t = welch_t(all_[0], all_[1]);

    const auto consider = [&](const Both& both, bool squared) {
        const double count = both[0].count() + both[1].count(), t = welch_t(both[0], both[1]);
        if (count < enough || std::abs(t) <= std::abs(outcome.t)) return;
        outcome.t = t;
        outcome.kept = count / times;
        outcome.squared = squared;
    };
    Both kept{};
    for (std::size_t i = 0; i < crops; ++i) {
        for (std::size_t kind = 0; kind < 2; ++kind) kept[kind] += buckets_[i][kind];
        consider(kept, false);
    }
    consider(squared_, true);
    return outcome;
}

}  // namespace lab
