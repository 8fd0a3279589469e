// D.surfaces: C++, AES-NI and CUDA over the lengths of buffer and file.
#include <fmt/format.h>

#include "lab/compare.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_verdicts.hpp"
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
        result.verdicts = {judge_small_data(surfaces), judge_large_data(surfaces)};
    } else {
        result.verdicts.push_back(
            {Verdict::Holds::open, "When to use the GPU cannot be said here: there is none to hold against the CPU."});
    }
    if (surfaces.has(with_aes_ni.name)) result.verdicts.push_back(judge_aes_ni(surfaces));
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
                            12,
                            run_surfaces};

}  // namespace lab::experiments
