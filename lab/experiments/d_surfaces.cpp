// D.surfaces: C++, AES-NI and CUDA over the lengths of buffer and file.
#include <fmt/format.h>

#include "lab/compare.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/surfaces.hpp"

namespace lab::experiments {

namespace {

Panel panel_of(const Surfaces& surfaces, unsigned key_bits, Direction direction) {
    Panel panel{name_of(key_bits, direction),
                Panel::Kind::surface,
                sizes("file", surfaces.files),
                sizes("buffer", surfaces.buffers),
                numbers("throughput", "GB/s", Axis::Scale::log, {}),
                {},
                fmt::format("ECB; from reading the file's first byte to writing its last, in {}, both open already; "
                            "CUDA's copies included. The paper shows surfaces, not figures.",
                            surfaces.place)};
    for (const std::string& implementation : surfaces.implementations) {
        Series series = measured(implementation);
        const Surface& surface = surfaces.of(implementation, key_bits, direction);
        for (std::size_t i = 0; i < surface.seconds.size(); ++i) {
            const auto bytes = static_cast<double>(surfaces.files[i % surfaces.files.size()]);
            add(series, rate(bytes / 1e9, surface.seconds[i]));
        }
        panel.series.push_back(std::move(series));
    }
    return panel;
}

/// Seconds at the first (smallest file and buffer) or the last point of AES-128 encryption.
double at_corner(const Surfaces& surfaces, const char* implementation, bool last) {
    const Surface& surface = surfaces.of(implementation, 128, Direction::encrypt);
    return (last ? surface.seconds.back() : surface.seconds.front()).median;
}

Verdict on_small_data(const Surfaces& surfaces) {
    const double gpu = at_corner(surfaces, on_cuda.name, false);
    const double against_cpp = gpu / at_corner(surfaces, in_plain_cpp.name, false);
    const double against_ni =
        surfaces.has(with_aes_ni.name) ? gpu / at_corner(surfaces, with_aes_ni.name, false) : against_cpp;
    return {against_cpp > 1 && against_ni > 2   ? Verdict::Holds::yes
            : against_cpp > 1 || against_ni > 1 ? Verdict::Holds::partly
                                                : Verdict::Holds::no,
            fmt::format(
                "A file of {} takes the GPU {:.1f} times what it takes plain C++, and {:.1f} times what it takes "
                "AES-NI: small data {} on the GPU.",
                size_name(surfaces.files[0]), against_cpp, against_ni, against_cpp > 1 ? "loses" : "does not lose")};
}

Verdict on_large_data(const Surfaces& surfaces) {
    const double gpu = at_corner(surfaces, on_cuda.name, true);
    const double over_cpp = at_corner(surfaces, in_plain_cpp.name, true) / gpu;
    const double over_ni = surfaces.has(with_aes_ni.name) ? at_corner(surfaces, with_aes_ni.name, true) / gpu : 0;
    const std::string sentence = fmt::format(
        "At {} through a buffer of {} the GPU is {:.1f} times as fast as plain C++, and {:.2f} times as fast as AES-NI "
        "on "
        "one thread",
        size_name(surfaces.files.back()), size_name(surfaces.buffers.back()), over_cpp, over_ni);
    if (over_cpp <= 1) return {Verdict::Holds::no, sentence + ": it does not even win against C++."};
    if (over_ni > 1) return {Verdict::Holds::partly, sentence + ": it does not come close to AES-NI, it is ahead."};
    if (over_ni > 0.5) return {Verdict::Holds::yes, sentence + ": ahead of the one and close to the other."};
    return {Verdict::Holds::partly,
            sentence + ": ahead of the one, and far from the other, which has become faster than files are moved."};
}

/// What has become of the CPU's own two implementations.
Verdict on_aes_ni(const Surfaces& surfaces) {
    const double ratio = at_corner(surfaces, in_plain_cpp.name, true) / at_corner(surfaces, with_aes_ni.name, true);
    return {
        ratio > 1 ? Verdict::Holds::yes : Verdict::Holds::no,
        fmt::format("Large files take plain C++ {:.1f} times what they take AES-NI, both on one thread: without a GPU, "
                    "AES-NI is {}.",
                    ratio, ratio > 1 ? "the one to use" : "not the one to use")};
}

Result run_surfaces(const Context& context) {
    const Surfaces& surfaces = measure_surfaces(context, 1);
    Result result;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const unsigned key_bits : {128u, 192u, 256u}) {
            result.panels.push_back(panel_of(surfaces, key_bits, direction));
        }
    }
    for (const std::string& implementation : surfaces.implementations) {
        const auto last = [&](unsigned key_bits) {
            return surfaces.of(implementation, key_bits, Direction::encrypt).seconds.back().median;
        };
        result.facts.push_back(
            {fmt::format("{}: AES-256 over AES-128, time at the largest file and buffer", implementation),
             last(256) / last(128), "", std::nullopt});
    }
    if (surfaces.has(on_cuda.name)) {
        result.verdicts = {on_small_data(surfaces), on_large_data(surfaces)};
    } else {
        result.verdicts.push_back(
            {Verdict::Holds::open, "When to use the GPU cannot be said here: there is none to hold against the CPU."});
    }
    if (surfaces.has(with_aes_ni.name)) result.verdicts.push_back(on_aes_ni(surfaces));
    result.notes = surfaces.notes;
    return result;
}

}  // namespace

const Experiment d_surfaces{"D.surfaces",
                            Paper::damjanovic,
                            "C++, AES-NI and CUDA over the lengths of buffer and file",
                            "When should one use the GPU rather than C++ or AES-NI?",
                            Experiment::Needs::either,
                            150,
                            8,
                            run_surfaces};

}  // namespace lab::experiments
