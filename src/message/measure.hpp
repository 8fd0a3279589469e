// Times messages on this machine.
#pragma once

#include <memory>

#include "engine/calibration/calibrate.hpp"

namespace warpaes {

/// A Measure that carries trials out. Its buffers grow to what the largest trial needs, in each kind of memory, and
/// are kept. One thread at a time.
class Stopwatch {
public:
    struct Options {
        unsigned samples = 5;          ///< of which one of the shortest counts
        double sample_seconds = 1e-3;  ///< about how long one takes, at least a call
        unsigned threads = 1;          ///< that the engines may use
    };
    explicit Stopwatch(const Options& options);
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch();

    /// Throws Error; nothing if memory of this kind and size is not to be had.
    std::optional<double> operator()(const Trial& trial);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Calibrates this machine. `progress`: see CalibrationOptions; may be empty.
CalibrationReport calibrate_here(bool quick, bool gpus,
                                 const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace warpaes
