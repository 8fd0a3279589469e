// Engines for the C++ headers. They are declared outside handles.hpp, because programs that include headers from src
// cannot include warpaes.hpp: both define an Error.
#pragma once

#include "input.hpp"
#include "warpaes/warpaes.hpp"

namespace fuzz {

/// Returns one of the shared engines of the C++ headers, which process batches with their own threads.
const warpaes::Engine& engine_of(Input& input);

}  // namespace fuzz
