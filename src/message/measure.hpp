// Times messages on this machine.
#pragma once

#include "engine/calibration/calibrate.hpp"
#include "engine/engine.hpp"

namespace warpaes {

struct StopwatchOptions {
    unsigned samples = 5;          ///< number of timed samples; the first quartile is the result
    double sample_seconds = 1e-3;  ///< approximate duration of a sample, which consists of at least one call
    unsigned threads = 1;          ///< threads that the engines may use
};
/// Returns a function that runs trials. Its buffers grow to the size that the largest trial requires in each kind of
/// memory, and are kept. Not thread-safe.
Measure stopwatch(const StopwatchOptions& options);

/// Calibrates this machine; `gpu` is its backend for GPUs. `progress` is as in CalibrationOptions, and may be empty.
CalibrationReport calibrate_here(CudaBackend& gpu, bool quick, bool gpus,
                                 const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace warpaes
