// The figures of a GPU's launches, by measuring.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/launch_figures.hpp"

namespace warpaes {

/// A value of a figure that was tried.
struct TuningStep {
    const char* figure;
    std::uint32_t value;
    const char* works;  ///< what was measured with it
    double relative;    ///< time of that, the value in use being 1; 0: the GPU refuses such launches
    std::uint64_t done, total;
};

struct TuningOptions {
    int device = 0;
    bool quick = false;
    /// False to stop: Error{CANCELLED}.
    std::function<bool(const TuningStep&)> progress;
};

struct TuningReport {
    GpuLaunches launches;  ///< `used`: the best
    std::uint64_t measurements = 0;

    /// Figures that are not the architecture's.
    [[nodiscard]] std::uint32_t changed() const {
        std::uint32_t n = 0;
        for (const LaunchFigure& f : launch_figures()) n += launches.used.*f.value != launches.built_in.*f.value;
        return n;
    }
};

/// Goes through the figures, from what the GPU's architecture has, and takes of each the best value. Of every value the
/// bytes are compared with the CPU's before it is measured. Launches go on as before when it returns or throws:
/// Error{DEVICE} if bytes differ, and what launches throw.
TuningReport tune(const TuningOptions& options);

}  // namespace warpaes
