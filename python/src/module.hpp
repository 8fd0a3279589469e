// The parts of the extension. Each function adds the types and functions of one part to the module.
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
void add_names(PyObject* module);
void add_random(PyObject* module);
void add_parquet(PyObject* module);
void add_thrift(PyObject* module);
void add_simple_footer(PyObject* module);

}  // namespace warpaes::python
