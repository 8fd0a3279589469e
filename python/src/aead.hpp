// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "message.hpp"

namespace warpaes::python {

/// The differing properties of the classes of authenticated encryption.
struct AeadKind {
    const char* name;
    warpaes_mode mode;
    std::size_t least_nonce;
    std::size_t most_nonce;
    bool enqueued;  ///< on a GPU, the mode runs in stream order and the call need not wait
};

/// The state of an object of one of these classes.
struct Aead {
    const AeadKind* kind = nullptr;
    Key key;
    Key mac_key;  ///< only for SIV
    std::size_t tag_bytes = 16;
    Object origin;  ///< the arguments of load(), if it created the object from a place that other processes can read
};
using AeadObject = Instance<Aead>;

/// Throws ValueError if the mode does not take a nonce of this length.
void check_nonce(const Aead& aead, std::size_t nonce);
/// Throws ValueError if CCM's length field, 15 - `nonce` bytes, cannot hold the length of the data.
void check_length(const Aead& aead, std::size_t nonce, std::size_t data);

extern const AeadKind gcm_kind, ccm_kind, gcm_siv_kind, siv_kind;

void add_aead(PyObject* module);
void add_siv(PyObject* module);

/// The methods of all classes: load() from the place of a key, pickling by this place, and copies.
Object load_aead(PyObject* type, const Call& call);
Object reduce_aead(PyObject* self, const Call& call);

/// A bytes object of random bytes from the operating system, for `generate_key`.
Object random_bytes(std::size_t count);

// The batch methods of AESGCM and AESCCM (batch.cpp).
Object encrypt_batch(PyObject* self, const Call& call);
Object decrypt_batch(PyObject* self, const Call& call);
Object submit_batch(PyObject* self, const Call& call);
Object submit_batch_into(PyObject* self, const Call& call);
Object enqueue_batch_into(PyObject* type, const Call& call);

}  // namespace warpaes::python
