// What the extension is put together from: each adds its types and functions.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

void add_engine(PyObject* module);
void add_memory(PyObject* module);
void add_aead(PyObject* module);
void add_ciphers(PyObject* module);
void add_cmac(PyObject* module);
void add_keywrap(PyObject* module);
void add_files(PyObject* module);
void add_batches(PyObject* module);
void add_random(PyObject* module);

}  // namespace warpaes::python
