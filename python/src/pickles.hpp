// Pickling of objects that have a key: a pickle contains the key's place, never the key.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

/// Calls a function in warpaes._places with a place.
Object from_places(const char* function, PyObject* place);
/// Calls a function in warpaes._keyset_places with up to four arguments. The first NULL ends the arguments.
Object from_keyset_places(const char* function, PyObject* first, PyObject* second = nullptr, PyObject* third = nullptr,
                          PyObject* fourth = nullptr);

/// Returns the result of `__reduce__`: a call of the type's `load` with the arguments `origin`. Throws TypeError if
/// `origin` is empty, because the key was passed as bytes or came from a place that other processes cannot read.
/// `instead` is the end of the error message.
Object reduced(PyObject* self, const Object& origin, const char* instead);

/// Implements `__copy__` and `__deepcopy__` for an immutable object: returns the object itself.
Object itself(PyObject* self, const Call& call);

/// Implements `__reduce__` for an object that belongs to this process: throws TypeError.
Object refuse_pickle(PyObject* self, const Call& call);

inline const PyMethodDef copy_def = method_def<itself>("__copy__", nullptr);
inline const PyMethodDef deepcopy_def = method_def<itself>("__deepcopy__", nullptr);
inline const PyMethodDef refuse_pickle_def = method_def<refuse_pickle>("__reduce__", nullptr);

}  // namespace warpaes::python
