// What to measure on a machine, and what becomes of it: the cost model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backend/backend.hpp"
#include "engine/cost_model.hpp"

namespace warpaes {

/// One thing to measure.
struct Trial {
    std::string backend;
    int device = -1;  ///< CUDA device number, or -1
    Work work;
    unsigned lanes = 0;             ///< workers; 0: the backend's own number
    std::uint64_t chunk_bytes = 0;  ///< 0: the backend's own size
};

/// Seconds of a call; nothing if this cannot be measured here, for example for want of memory.
using Measure = std::function<std::optional<double>(const Trial&)>;

struct CalibrationOptions {
    bool quick = false;
    unsigned threads = 1;                  ///< of the machine
    std::uint64_t most_bytes = 256 << 20;  ///< of one measurement
    bool batches = true;
    /// What is done, and how much there is, in trials. False to stop: Error{CANCELLED}.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

struct CalibrationReport {
    CostModel model;
    std::uint64_t trials = 0;
    double median_error = 0;  ///< of the model at what was measured, relative
};

/// Measures each usable entry of `backends`; of several GPUs of one name, the first. Throws what `measure` throws.
CalibrationReport calibrate(std::span<const BackendInfo> backends, const CalibrationOptions& options,
                            const Measure& measure);

}  // namespace warpaes
