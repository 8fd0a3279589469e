// Measures a machine and builds the cost model from the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backend/backend.hpp"
#include "engine/cost_model.hpp"

namespace warpaes {

inline constexpr std::uint64_t kib = 1024, mib = kib * kib;

/// One measurement to take.
struct Trial {
    std::string backend;
    int device = -1;  ///< CUDA device number, or -1
    Work work;
    unsigned lanes = 0;             ///< workers; 0: the backend's default
    std::uint64_t chunk_bytes = 0;  ///< 0: the backend's default
};

/// Returns the duration of a call in seconds; nothing if the call cannot be measured here, for example because there is
/// not enough memory.
using Measure = std::function<std::optional<double>(const Trial&)>;

struct CalibrationOptions {
    bool quick = false;
    unsigned threads = 1;                  ///< worker threads of the machine
    std::uint64_t most_bytes = 256 << 20;  ///< limit for one measurement
    bool batches = true;
    /// Receives the number of finished trials and the total number. Returns false to stop, which throws
    /// Error{CANCELLED}.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

struct CalibrationReport {
    CostModel model;
    std::uint64_t trials = 0;
    double median_error = 0;  ///< relative error of the model at the measured points
};

/// Measures each usable entry of `backends`; if several GPUs have the same name, measures only the first. Rethrows
/// exceptions of `measure`.
CalibrationReport calibrate(std::span<const BackendInfo> backends, const CalibrationOptions& options,
                            const Measure& measure);

}  // namespace warpaes
