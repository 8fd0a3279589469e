// Storage for the costs of a machine between processes.
#pragma once

#include <memory>
#include <string>

#include "engine/cost_model.hpp"

namespace warpaes {

/// The machine that a calibration is valid for. GPUs are distinguished inside the file, by the names of their cost
/// tables.
struct Machine {
    std::string cpu;
    unsigned processors = 0;
    std::string version;  ///< of this library

    static const Machine& here();
    bool operator==(const Machine&) const = default;
};

/// WARPAES_CALIBRATION, if it is set and not empty; else a file in $XDG_CACHE_HOME/warpaes or ~/.cache/warpaes whose
/// name differs between machines. Empty with WARPAES_CALIBRATION=none, or without a home directory.
std::string calibration_path(const Machine& machine = Machine::here());

/// The costs stored at `path`. If the file is not usable (damaged, or from another machine or version), the result has
/// no costs and a note with the reason. Never fails.
std::shared_ptr<const CostModel> load_calibration(const std::string& path = calibration_path(),
                                                  const Machine& machine = Machine::here());

/// Replaces the file at `path` atomically: a concurrent reader sees the old or the new file. Keeps stored costs of GPUs
/// that `model` does not have. Creates missing directories. Throws Error{WRITE}.
void store_calibration(const CostModel& model, const std::string& path = calibration_path(),
                       const Machine& machine = Machine::here());

/// A name as the calibration file stores it: ASCII without quotes and backslashes.
std::string plain_name(std::string_view text);
/// Write and read the text of a calibration file. Reading throws Error{FORMAT}.
std::string write_calibration(const CostModel& model, const Machine& machine);
CostModel read_calibration(std::string_view text, const Machine& machine);

}  // namespace warpaes
