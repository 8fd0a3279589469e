// Where a machine's costs are kept between processes.
#pragma once

#include <memory>
#include <string>

#include "engine/cost_model.hpp"

namespace warpaes {

/// Processors that this process may run on.
unsigned usable_processors();

/// What a calibration holds for. GPUs are told apart inside the file, by the names of their costs.
struct Machine {
    std::string cpu;
    unsigned processors = 0;
    std::string version;  ///< of this library

    static const Machine& here();
    bool operator==(const Machine&) const = default;
};

/// WARPAES_CALIBRATION, if it is set and not empty; else a file in $XDG_CACHE_HOME/warpaes or ~/.cache/warpaes whose
/// name tells machines apart. Empty with WARPAES_CALIBRATION=none, and where there is no home.
std::string calibration_path(const Machine& machine = Machine::here());

/// The costs stored at `path`; without costs, and with a note that says why, if there is something that is not usable:
/// damaged, of another machine or of another version. Never fails.
std::shared_ptr<const CostModel> load_calibration(const std::string& path = calibration_path(),
                                                  const Machine& machine = Machine::here());

/// Replaces what is stored at `path` at once: whoever reads meanwhile sees the old file or the new one. Costs of GPUs
/// that `model` does not know stay. Makes the folders. Throws Error{WRITE}.
void store_calibration(const CostModel& model, const std::string& path = calibration_path(),
                       const Machine& machine = Machine::here());

/// A name as such a file has it: ASCII without quotes and backslashes.
std::string plain_name(std::string_view text);
/// The text of such a file, and what it says; the latter throws Error{FORMAT}.
std::string write_calibration(const CostModel& model, const Machine& machine);
CostModel read_calibration(std::string_view text, const Machine& machine);

}  // namespace warpaes
