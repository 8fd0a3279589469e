// Every experiment by name, each defined in the file of its subject. Listed in lab/experiment.cpp.
#pragma once

#include "lab/experiment.hpp"

namespace lab::experiments {

extern const Experiment n_implementations;
extern const Experiment n_granularity;
extern const Experiment n_tables;
extern const Experiment n_layout;
extern const Experiment n_persistent;

}  // namespace lab::experiments
