// Chooses the launch figures of a GPU based on measurements.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/cuda_backend.hpp"
#include "backend/launch_figures.hpp"

namespace warpaes {

/// A value of a figure that was tried.
struct TuningStep {
    const char* figure;
    std::uint32_t value;
    const char* works;  ///< description of the work that was measured
    double relative;    ///< the work's time divided by its time with the value in use; 0: the GPU refuses launches with
                        ///< `value`
    std::uint64_t done, total;
};

struct TuningOptions {
    int device = 0;
    bool quick = false;
    /// Returns false to stop, which throws Error{CANCELLED}.
    std::function<bool(const TuningStep&)> progress;
};

struct TuningReport {
    GpuLaunches launches;  ///< `used` is the best table found
    std::uint64_t measurements = 0;

    /// The number of figures that differ from the architecture's defaults.
    [[nodiscard]] std::uint32_t changed() const {
        std::uint32_t n = 0;
        for (const LaunchFigure& f : launch_figures()) n += launches.used.*f.value != launches.built_in.*f.value;
        return n;
    }
};

/// Tunes one figure after another, starting from the table of the GPU's architecture, and selects the best value of
/// each figure. Before a value is measured, the output with this value is compared with the CPU's. The launch table
/// that was in use is restored on return and on an exception: Error{DEVICE} if outputs differ, or an exception of a
/// launch.
TuningReport tune(CudaBackend& gpu, const TuningOptions& options);

}  // namespace warpaes
