// Describes the machine of a run, and the build.
#pragma once

#include <optional>
#include <string>

#include "lab/record.hpp"

namespace lab {

/// Describes this machine. `gpu` is the device that the run uses, -1 for none.
Machine look_around(int gpu);

/// Returns the number of processors that this process may use.
unsigned available_processors();

/// Returns the commit of this build, or the value of the environment variable WARPAES_COMMIT. Ends in "+" if the tree
/// had uncommitted changes; "" if unknown.
std::string commit_of_build();

/// The number of processors of the complete machine, including processors that this process may not use.
unsigned all_processors();
/// Processor seconds (user, system and interrupts) of the whole machine since boot; none if the system does not report
/// this.
std::optional<double> processor_seconds();
/// Like processor_seconds(), but excludes this process and the programs that it has run.
std::optional<double> processor_seconds_of_others();

}  // namespace lab
