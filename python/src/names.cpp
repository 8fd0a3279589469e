// Encrypted names of files and folders (warpaes/names.h).
//
// SPDX-License-Identifier: Apache-2.0
#include <warpaes/names.h>

#include "files.hpp"
#include "module.hpp"

namespace warpaes::python {
namespace {

struct NamesState {
    warpaes_names* handle = nullptr;

    NamesState() = default;
    NamesState(const NamesState&) = delete;
    NamesState& operator=(const NamesState&) = delete;
    ~NamesState() { warpaes_names_destroy(handle); }
};
using NamesObject = Instance<NamesState>;

const char* text_of(const View& view) {
    return static_cast<const char*>(view.data());
}

void init_names(NamesObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* keyset = nullptr;
    static const char* names[] = {"keyset", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &keyset) == 0) throw Raised();
    const KeysetUse keys(keyset);
    check(warpaes_names_create(engine(), keys.get(), &self.state.handle));
}

Object encrypt_name(PyObject* self, const Call& call) {
    const auto [folder, name, key] = arguments(call, "encrypt", {"folder", "name", "key"});
    const View place = host_view(folder, "folder"), plain = host_view(name, "name");
    const std::uint64_t index = to_u64(key, "key");
    char stored[WARPAES_STORED_NAME_BYTES];
    std::size_t length = 0;
    check(warpaes_names_encrypt(state_of<NamesState>(self).handle, index, text_of(place), place.size(), text_of(plain),
                                plain.size(), stored, sizeof stored, &length));
    return Object(PyUnicode_DecodeLatin1(stored, static_cast<Py_ssize_t>(length), nullptr));
}

Object decrypt_name(PyObject* self, const Call& call) {
    const auto [folder, stored] = arguments(call, "decrypt", {"folder", "stored"});
    const View place = host_view(folder, "folder"), sealed = host_view(stored, "stored");
    char name[WARPAES_NAME_BYTES];
    std::size_t length = 0;
    check(warpaes_names_decrypt(state_of<NamesState>(self).handle, text_of(place), place.size(), text_of(sealed),
                                sealed.size(), name, sizeof name, &length, nullptr));
    return Object(PyBytes_FromStringAndSize(name, static_cast<Py_ssize_t>(length)));
}

Py_ssize_t names_length(PyObject* self) {
    return static_cast<Py_ssize_t>(warpaes_names_count(state_of<NamesState>(self).handle));
}

PyMethodDef names_methods[] = {
    method_def<encrypt_name>("encrypt",
                             "encrypt($self, folder, name, key)\n--\n\nReturn the encrypted form of a name."),
    method_def<decrypt_name>("decrypt",
                             "decrypt($self, folder, stored)\n--\n\nReturn the plaintext of an encrypted name."),
    end_of_methods,
};

PyType_Slot names_slots[] = {
    {Py_tp_doc, const_cast<char*>("Names(keyset)\n--\n\nKeys for names, derived from the enabled keys of a keyset.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<NamesObject, init_names>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<NamesObject>)},
    {Py_tp_methods, names_methods},
    {Py_sq_length, reinterpret_cast<void*>(names_length)},
    {0, nullptr},
};
PyType_Spec names_spec = {"warpaes._native.Names", sizeof(NamesObject), 0, Py_TPFLAGS_DEFAULT, names_slots};

}  // namespace

void add_names(PyObject* module) {
    add_type(module, names_spec);
}

}  // namespace warpaes::python
