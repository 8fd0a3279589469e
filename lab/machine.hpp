// What a run is on, and by which build.
#pragma once

#include <optional>
#include <string>

#include "lab/record.hpp"

namespace lab {

/// `gpu`: the device that the run uses, -1 for none.
Machine look_around(int gpu);

/// Processors that this process may use.
unsigned available_processors();

/// The commit that this was built from, or what the environment variable WARPAES_COMMIT says; a + behind it if the tree
/// had more than that. "" if not known.
std::string commit_of_build();

/// Of the whole machine, not of this process alone.
unsigned all_processors();
/// Processor seconds of the whole machine since it started, user and system; none if the system does not say.
std::optional<double> processor_seconds();
/// The same without those of this process and of the programs it has run.
std::optional<double> processor_seconds_of_others();

}  // namespace lab
