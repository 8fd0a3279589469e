// Pickles of objects with a key: they contain the place of the key, never the key.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python.hpp"

namespace warpaes::python {

/// Calls a function in warpaes._places with a place.
Object from_places(const char* function, PyObject* place);
/// Calls a function of warpaes._keyset_places with up to four arguments, which end at the first NULL.
Object from_keyset_places(const char* function, PyObject* first, PyObject* second = nullptr, PyObject* third = nullptr,
                          PyObject* fourth = nullptr);

/// The result of `__reduce__`: a call of the type's `load` with the arguments `origin`. Throws TypeError if `origin` is
/// empty, because the key was given as bytes or by a place that another process cannot read. `instead` ends the
/// sentence.
Object reduced(PyObject* self, const Object& origin, const char* instead);

/// The result of `__copy__` and `__deepcopy__` of an immutable object.
Object itself(PyObject* self, const Call& call);

/// `__reduce__` of an object that belongs to this process.
Object refuse_pickle(PyObject* self, const Call& call);

inline const PyMethodDef copy_def = method_def<itself>("__copy__", nullptr);
inline const PyMethodDef deepcopy_def = method_def<itself>("__deepcopy__", nullptr);
inline const PyMethodDef refuse_pickle_def = method_def<refuse_pickle>("__reduce__", nullptr);

}  // namespace warpaes::python
