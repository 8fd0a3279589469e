// Every experiment by name, each defined in the file of its subject. Listed in lab/experiment.cpp.
#pragma once

#include "lab/experiment.hpp"

namespace lab::experiments {

}  // namespace lab::experiments
