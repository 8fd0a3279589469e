// Stores the costs of a machine, and the launch tables of its GPUs, between processes.
#pragma once

#include <memory>
#include <string>

#include "backend/gpu_tuning.hpp"
#include "engine/cost_model.hpp"

namespace warpaes {

/// The machine for which a calibration is valid. GPUs are distinguished inside the file, by the names of their cost
/// tables.
struct Machine {
    std::string cpu;
    unsigned processors = 0;
    std::string version;  ///< version of this library

    static const Machine& here();
    bool operator==(const Machine&) const = default;
};

/// Returns WARPAES_CALIBRATION if it is set and not empty, otherwise a file in $XDG_CACHE_HOME/warpaes or
/// ~/.cache/warpaes whose name depends on the machine. Empty with WARPAES_CALIBRATION=none, or without a home
/// directory.
std::string calibration_path(const Machine& machine = Machine::here());

/// Returns the costs stored at `path`. If the file is not usable (damaged, or from another machine or version), the
/// result has no costs and a note with the reason. Never fails.
std::shared_ptr<const CostModel> load_calibration(const std::string& path = calibration_path(),
                                                  const Machine& machine = Machine::here());

/// Replaces the file at `path` atomically: a concurrent reader sees either the old or the new file. Keeps stored costs
/// of GPUs that are not in `model`. Creates missing directories. Throws Error{WRITE}.
void store_calibration(const CostModel& model, const std::string& path = calibration_path(),
                       const Machine& machine = Machine::here());

/// Converts a name to the form in the calibration file: ASCII without quotes and backslashes.
std::string plain_name(std::string_view text);
/// These functions write and parse the text of a calibration file. read_calibration() throws Error{FORMAT}.
std::string write_calibration(const CostModel& model, const Machine& machine);
CostModel read_calibration(std::string_view text, const Machine& machine);

/// Returns the launch table in `model` for `gpu`. If the result contains no table, its note may describe the reason
/// (the calibration is unusable, the table belongs to another GPU, or this GPU cannot use the table) and the remedy.
StoredLaunches launches_of(const CostModel& model, const GpuShape& gpu);

/// Like launches_of(), for the calibration stored on this machine. Never fails.
StoredLaunches stored_launches(const GpuShape& gpu);

/// Stores the table that `launches` uses at `path`, and keeps all other stored data. Throws Error{WRITE}.
void store_launches(const GpuLaunches& launches, const std::string& path);

}  // namespace warpaes
