// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "view.hpp"

namespace warpaes::python {

/// A keyset of the C ABI, wiped and freed with this.
struct KeysetState {
    warpaes_keyset* handle = nullptr;

    KeysetState() = default;
    KeysetState(const KeysetState&) = delete;
    KeysetState& operator=(const KeysetState&) = delete;
    ~KeysetState() { warpaes_keyset_destroy(handle); }
};

/// The handle of an argument that must be a Keyset.
const warpaes_keyset* keyset_of(PyObject* object);

void add_keysets(PyObject* module);

}  // namespace warpaes::python
