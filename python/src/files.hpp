// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "view.hpp"

namespace warpaes::python {

/// Owns a keyset of the C ABI. The destructor wipes and frees the keyset.
struct KeysetState {
    warpaes_keyset* handle = nullptr;
    unsigned users = 0;  ///< number of threads that use the keyset without the GIL
    Object origin;  ///< the arguments of load(), if it created the keyset and the keyset has not been changed since

    KeysetState() = default;
    KeysetState(const KeysetState&) = delete;
    KeysetState& operator=(const KeysetState&) = delete;
    ~KeysetState() { warpaes_keyset_destroy(handle); }
};

/// Returns the state of a Keyset argument. Throws TypeError for any other type.
KeysetState& keyset_of(PyObject* object);

/// Prevents changes to a keyset while this object exists.
class KeysetUse {
public:
    explicit KeysetUse(PyObject* object) : keyset_(keyset_of(object)) { ++keyset_.users; }
    KeysetUse(const KeysetUse&) = delete;
    KeysetUse& operator=(const KeysetUse&) = delete;
    ~KeysetUse() { --keyset_.users; }
    [[nodiscard]] const warpaes_keyset* get() const { return keyset_.handle; }

private:
    KeysetState& keyset_;
};

void add_keysets(PyObject* module);

}  // namespace warpaes::python
