// The process's engine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

/// Returns the process's engine, which the first call creates. A child of fork() has neither the parent's threads nor
/// its GPU contexts, so it creates its own engine, on the CPU. The engine is never destroyed, because work may be in
/// flight at exit. The caller holds the GIL.
warpaes_engine* engine();

/// The number of forks that led to this process. An object that belongs to the parent's engine is unusable in a child
/// of fork().
unsigned forks() noexcept;
/// Throws if an ancestor of this process created `thing`. `made` is the value of forks() when `thing` was created.
void check_process(unsigned made, const char* thing);

/// Throws in a child of fork(), whose engine runs on the CPU. `thing` is the name of an argument in device memory.
void check_device_memory(const char* thing);

/// Returns whether the process's engine can use a CUDA device's memory. Does not create the engine.
bool reaches(int device);

void add_engine(PyObject* module);

}  // namespace warpaes::python
