// What a run is on, and by which build.
#pragma once

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

}  // namespace lab
