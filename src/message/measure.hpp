// Times messages on this machine.
#pragma once

#include "engine/calibration/calibrate.hpp"

namespace warpaes {

struct StopwatchOptions {
    unsigned samples = 5;          ///< of which one of the shortest counts
    double sample_seconds = 1e-3;  ///< about how long one takes, at least a call
    unsigned threads = 1;          ///< that the engines may use
};
/// Carries trials out. Its buffers grow to what the largest trial needs, in each kind of memory, and are kept. One
/// thread at a time.
Measure stopwatch(const StopwatchOptions& options);

/// Calibrates this machine. `progress`: see CalibrationOptions; may be empty.
CalibrationReport calibrate_here(bool quick, bool gpus,
                                 const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace warpaes
