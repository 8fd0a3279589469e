// SPDX-License-Identifier: Apache-2.0
#include "pickles.hpp"

namespace warpaes::python {
namespace {

Object name_of(PyObject* self) {
    return Object(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__name__"));
}

Object function_of(const char* module, const char* name) {
    const Object imported(PyImport_ImportModule(module));
    return Object(PyObject_GetAttrString(imported.get(), name));
}

}  // namespace

Object from_places(const char* function, PyObject* place) {
    const Object called = function_of("warpaes._places", function);
    return Object(PyObject_CallFunctionObjArgs(called.get(), place, nullptr));
}

Object from_keyset_places(const char* function, PyObject* first, PyObject* second, PyObject* third, PyObject* fourth) {
    const Object called = function_of("warpaes._keyset_places", function);
    return Object(PyObject_CallFunctionObjArgs(called.get(), first, second, third, fourth, nullptr));
}

Object reduced(PyObject* self, const Object& origin, const char* instead) {
    if (!origin || origin.get() == Py_None) {
        raise(PyExc_TypeError, "this %U cannot be pickled, because the pickle would contain its key; %s",
              name_of(self).get(), instead);
    }
    const Object load(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "load"));
    return Object(PyTuple_Pack(2, load.get(), origin.get()));
}

Object itself(PyObject* self, const Call&) {
    return Object::borrowed(self);
}

Object refuse_pickle(PyObject* self, const Call&) {
    raise(PyExc_TypeError,
          "this %U cannot be pickled or copied, because it belongs to this process; create another one where it is "
          "needed",
          name_of(self).get());
}

}  // namespace warpaes::python
