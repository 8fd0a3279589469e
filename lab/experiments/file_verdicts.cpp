#include "lab/experiments/file_verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/compare.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

const Series& series_of(const Panel& panel, const std::string& name) {
    return *std::find_if(panel.series.begin(), panel.series.end(), [&](const Series& s) { return s.name == name; });
}

/// Seconds at the first (smallest file and buffer) or the last point of AES-128 encryption.
double at_corner(const Surfaces& surfaces, const char* implementation, bool last) {
    const Surface& surface = surfaces.of(implementation, 128, Direction::encrypt);
    return (last ? surface.seconds.back() : surface.seconds.front()).median;
}

/// "30 % faster than", "30 % slower than", "as fast as".
std::string compared(double gain) {
    if (std::fabs(gain) < 0.005) return "as fast as";
    return fmt::format("{:.0f} % {} than", 100 * std::fabs(gain), gain > 0 ? "faster" : "slower");
}

}  // namespace

double gain_on_large_files(const Panel& panel, const std::string& openssl, std::uint64_t from) {
    const Series &ours = panel.series.front(), &theirs = series_of(panel, openssl);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < panel.x.values.size(); ++i) {
        const bool last = i + 1 == panel.x.values.size();
        if (panel.x.values[i] < static_cast<double>(from) && !(last && count == 0)) continue;
        sum += *ours.values[i] / *theirs.values[i] - 1;
        ++count;
    }
    return sum / count;
}

Verdict judge_large_files(const Panel& panel, const std::string& openssl, std::uint64_t from, double published) {
    const double ours = gain_on_large_files(panel, openssl, from);
    const double largest = panel.x.values.back();
    const std::string where = largest < static_cast<double>(from)
                                  ? fmt::format("at {:.0f} MB, the largest file here", largest / 1e6)
                                  : fmt::format("from {:.0f} MB on", static_cast<double>(from) / 1e6);
    return {ours > published / 2 ? Verdict::Holds::yes
            : ours > 0.05        ? Verdict::Holds::partly
                                 : Verdict::Holds::no,
            fmt::format("{}, {}, warpaes is {} {} (published: {:.0f} % faster from {:.0f} MB on, on a disk of "
                        "{:.0f} MB/s).",
                        panel.title, where, compared(ours), openssl, 100 * published, static_cast<double>(from) / 1e6,
                        published::paracrypt::disk_mb_per_s)};
}

Verdict judge_small_files(const Panel& panel, const std::string& openssl) {
    const Series &ours = panel.series.front(), &theirs = series_of(panel, openssl);
    const double ratio = *ours.values.front() / *theirs.values.front();
    const bool loses = ratio < 0.95, even = !loses && ratio < 1.05;
    return {ratio < 0.8 ? Verdict::Holds::yes
            : loses     ? Verdict::Holds::partly
                        : Verdict::Holds::no,
            even ? fmt::format("{}, a file of {} takes warpaes as long as {}, within 5 %: small files do not lose.",
                               panel.title, place_name(panel.x, 0), openssl)
                 : fmt::format("{}, with a file of {} warpaes is {} {}: small files {}.", panel.title,
                               place_name(panel.x, 0), compared(ratio - 1), openssl, loses ? "lose" : "do not lose")};
}

Verdict judge_staging(const Panel& panel, const Series& series) {
    const auto value = [&](std::size_t i) { return *series.values[i]; };
    std::size_t best = 0, published_place = 0;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
        if (value(i) > value(best)) best = i;
        if (panel.x.values[i] <= static_cast<double>(published::paracrypt::best_staging_bytes)) published_place = i;
    }
    const double loss = 1 - value(published_place) / value(best);
    const double small_loss = 1 - value(0) / value(best),
                 large_loss = 1 - value(series.values.size() - 1) / value(best);
    const bool both_lose = small_loss > 0.05 && large_loss > 0.05;
    return {loss < 0.05 && both_lose ? Verdict::Holds::yes
            : both_lose              ? Verdict::Holds::partly
                                     : Verdict::Holds::no,
            fmt::format("{}, {}: chunks of {} are best, {:.1f} GB/s{}with the smallest, {}, it is {:.0f} % less, with "
                        "the largest, {}, {:.0f} %.",
                        panel.title, series.name, place_name(panel.x, best), value(best),
                        best == published_place ? ", as published; "
                                                : fmt::format("; with {}, the published best, it is {:.0f} % less, ",
                                                              place_name(panel.x, published_place), 100 * loss),
                        place_name(panel.x, 0), 100 * small_loss, place_name(panel.x, series.values.size() - 1),
                        100 * large_loss)};
}

Verdict judge_reader_and_writer(const Panel& panel, const Series& series) {
    const double gain = *series.values[1] / *series.values[0] - 1;
    return {gain > 0.1    ? Verdict::Holds::yes
            : gain > 0.02 ? Verdict::Holds::partly
                          : Verdict::Holds::no,
            fmt::format("{}, {}: a reader and a writer beside the worker are {} one thread.", panel.title, series.name,
                        compared(gain))};
}

Verdict judge_workers(const Panel& panel, const Series& series) {
    const double gain = *series.values.back() / *series.values[1] - 1;
    return {gain > 0.02    ? Verdict::Holds::no
            : gain > -0.05 ? Verdict::Holds::partly
                           : Verdict::Holds::yes,
            fmt::format("{}, {}: symmetrical workers, each reading and writing for itself, are {} reader, "
                        "worker and writer{}.",
                        panel.title, series.name, compared(gain),
                        gain > 0.02    ? ": it does not take threads for reading and writing"
                        : gain > -0.05 ? ": neither way is clearly ahead"
                                       : ": the published division of work is ahead")};
}

Verdict judge_range(const Panel& panel) {
    const double share = *panel.series[0].values.front() / *panel.series[0].values.back();
    const double of_reader = *panel.series[1].values.front();
    return {
        share < 0.1   ? Verdict::Holds::yes
        : share < 0.5 ? Verdict::Holds::partly
                      : Verdict::Holds::no,
        fmt::format("16 bytes of {} take {:.0f} µs, {:.2g} % of what all of it takes{}; with authentication, {:.0f} µs "
                    "through an open reader.",
                    place_name(panel.x, panel.x.size() - 1), *panel.series[0].values.front(), 100 * share,
                    share < 0.1 ? ": only the blocks under the range are touched" : "", of_reader)};
}

Verdict judge_small_data(const Surfaces& surfaces) {
    const double gpu = at_corner(surfaces, on_cuda.name, false);
    const double against_cpp = gpu / at_corner(surfaces, in_plain_cpp.name, false);
    const bool has_ni = surfaces.has(with_aes_ni.name);
    const double against_ni = has_ni ? gpu / at_corner(surfaces, with_aes_ni.name, false) : against_cpp;
    return {against_cpp > 1 && against_ni > 2   ? Verdict::Holds::yes
            : against_cpp > 1 || against_ni > 1 ? Verdict::Holds::partly
                                                : Verdict::Holds::no,
            fmt::format("A file of {} takes the GPU {:.1f} times as long as plain C++{}: small data {} on the GPU.",
                        size_name(surfaces.files[0]), against_cpp,
                        has_ni ? fmt::format(" and {:.1f} times as long as AES-NI", against_ni) : "",
                        against_cpp > 1   ? "loses"
                        : against_ni <= 1 ? "does not lose"
                                          : "loses against AES-NI alone")};
}

Verdict judge_large_data(const Surfaces& surfaces) {
    const double gpu = at_corner(surfaces, on_cuda.name, true);
    const double over_cpp = at_corner(surfaces, in_plain_cpp.name, true) / gpu;
    const bool has_ni = surfaces.has(with_aes_ni.name);
    const double over_ni = has_ni ? at_corner(surfaces, with_aes_ni.name, true) / gpu : 0;
    const std::string sentence = fmt::format(
        "At {} through a buffer of {} the GPU is {:.1f} times as fast as plain C++{}", size_name(surfaces.files.back()),
        size_name(surfaces.buffers.back()), over_cpp,
        has_ni ? fmt::format(" and {:.2f} times as fast as AES-NI, both on one thread", over_ni) : " on one thread");
    if (over_cpp <= 1) return {Verdict::Holds::no, sentence + ": it does not even win against C++."};
    if (!has_ni) return {Verdict::Holds::partly, sentence + "; there is no AES-NI here."};
    if (over_ni > 1) {
        return {Verdict::Holds::partly, sentence + ": ahead of both, where the published came close to AES-NI."};
    }
    if (over_ni > 0.5) return {Verdict::Holds::yes, sentence + ": ahead of the one and close to the other."};
    return {Verdict::Holds::partly, sentence + ": ahead of the one, and far from the other."};
}

Verdict judge_aes_ni(const Surfaces& surfaces) {
    const double ratio = at_corner(surfaces, in_plain_cpp.name, true) / at_corner(surfaces, with_aes_ni.name, true);
    return {ratio > 1 ? Verdict::Holds::yes : Verdict::Holds::no,
            fmt::format("Large files take plain C++ {:.1f} times as long as AES-NI, both on one thread: without a GPU, "
                        "AES-NI is {}.",
                        ratio, ratio > 1 ? "the one to use" : "not the one to use")};
}

Verdict judge_fit(std::span<const Fit> fits) {
    const auto worst = std::max_element(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
        return a.relative_absolute_error < b.relative_absolute_error;
    });
    const double error = worst->relative_absolute_error;
    return {
        error < 0.15  ? Verdict::Holds::yes
        : error < 0.4 ? Verdict::Holds::partly
                      : Verdict::Holds::no,
        fmt::format(
            "A tree with linear leaves {} these surfaces: cross-validated, its relative absolute error is at "
            "most {:.1f} % ({}, R² {:.4f}; {:.1f} % if predictions are not smoothed), and a typical prediction is off "
            "by a factor of {:.2f}.",
            error < 0.15  ? "describes"
            : error < 0.4 ? "roughly describes"
                          : "does not describe",
            100 * error, worst->implementation, worst->r_squared, 100 * worst->unsmoothed_error,
            worst->typical_factor)};
}

Verdict judge_use(std::optional<std::uint64_t> from, const std::string& other, std::uint64_t largest) {
    if (!from) {
        return {Verdict::Holds::no,
                fmt::format("By the model the GPU is never ahead of {} on one thread for good, up to files of {}.",
                            other, size_name(largest))};
    }
    return {Verdict::Holds::yes,
            fmt::format(
                "By the model the GPU is ahead of {} on one thread for files from {} on, through the largest buffer.",
                other, size_name(*from))};
}

}  // namespace lab::experiments
