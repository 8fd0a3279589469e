// The process's engine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

/// Made when it is first asked for, and again in a child of fork(), which computes on the CPU: neither the parent's
/// threads nor its GPU contexts are there. Never destroyed: at exit there may be work in flight. With the lock held.
warpaes_engine* engine();

/// How many forks have led to this process. What belongs to an engine is of no use after one.
unsigned forks() noexcept;
/// Throws if `thing`, made after `made` forks, is used in a child of the process that made it.
void check_process(unsigned made, const char* thing);

/// Whether this process's engine, made or not yet, reaches the memory of a CUDA device.
bool reaches(int device);

void add_engine(PyObject* module);

}  // namespace warpaes::python
