#include "lab/measure.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lab {

namespace {

/// Interpolates linearly between the two nearest samples; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

bool enough(const Effort& effort, std::size_t samples, double seconds) {
    return samples >= effort.most || (samples >= effort.least && seconds >= effort.seconds);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
    if (samples.empty()) throw std::invalid_argument("samples: there are none");
    std::sort(samples.begin(), samples.end());
    return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75), samples.size()};
}

Summary sample(const Effort& effort, const std::function<double()>& work) {
    return sample_in_turns(effort, {work}).front();
}

std::vector<Summary> sample_in_turns(const Effort& effort, const std::vector<std::function<double()>>& works) {
    return sample_in_turns(effort, works, [] { return 0.0; }).seconds;
}

Counted sample_in_turns(const Effort& effort, const std::vector<std::function<double()>>& works,
                        const std::function<double()>& counter) {
    for (const auto& work : works) work();
    std::vector<std::vector<double>> samples(works.size()), grown(works.size());
    const auto start = std::chrono::steady_clock::now();
    // The time limit covers all subjects together, so it grows with their number.
    const double seconds = effort.seconds * static_cast<double>(works.size());
    for (std::size_t turn = 0; !enough({effort.least, effort.most, seconds}, turn, seconds_since(start)); ++turn) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            const double before = counter();
            samples[i].push_back(works[i]());
            grown[i].push_back(counter() - before);
        }
    }
    Counted counted;
    for (auto& of_one : samples) counted.seconds.push_back(summarize(std::move(of_one)));
    for (auto& of_one : grown) counted.grown.push_back(summarize(std::move(of_one)));
    return counted;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double time_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return seconds_since(start);
}

Summary rate(double amount, const Summary& seconds) {
    return {amount / seconds.median, amount / seconds.high, amount / seconds.low, seconds.samples};
}

Summary scaled(const Summary& figure, double factor) {
    return {factor * figure.median, factor * figure.low, factor * figure.high, figure.samples};
}

void add(Series& series, const Summary& figure) {
    series.spread.resize(series.values.size());
    series.values.emplace_back(figure.median);
    series.spread.emplace_back(Series::Spread{figure.low, figure.high});
}

void add_none(Series& series) {
    series.values.emplace_back();
    if (!series.spread.empty()) series.spread.emplace_back();
}

}  // namespace lab
