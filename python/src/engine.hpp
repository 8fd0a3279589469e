// The engine of the process.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

/// Returns the process's engine, which the first call creates. A child of fork() creates its own engine, on the CPU,
/// because it has neither the parent's threads nor its GPU contexts. The engine is never destroyed: at exit, work may
/// be in flight. The caller holds the GIL.
warpaes_engine* engine();

/// The number of forks that led to this process. An object that belongs to an engine is unusable after a fork.
unsigned forks() noexcept;
/// Throws if an ancestor of this process created `thing`. `made`: the number of forks when it was created.
void check_process(unsigned made, const char* thing);

/// Throws in a child of fork(), whose engine computes on the CPU. `thing`: the name of an argument in device memory.
void check_device_memory(const char* thing);

/// Whether the process's engine can use the memory of a CUDA device. Does not create the engine.
bool reaches(int device);

void add_engine(PyObject* module);

}  // namespace warpaes::python
