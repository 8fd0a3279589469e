// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "message.hpp"

namespace warpaes::python {

/// The properties that differ between the authenticated-encryption classes.
struct AeadKind {
    const char* name;
    warpaes_mode mode;
    std::size_t least_nonce;
    std::size_t most_nonce;
    bool enqueued;  ///< on a GPU, a call is enqueued in stream order and need not wait
};

/// The state of an AESGCM, AESCCM, AESGCMSIV or AESSIV object.
struct Aead {
    const AeadKind* kind = nullptr;
    Key key;
    Key mac_key;  ///< only for SIV
    std::size_t tag_bytes = 16;
    Object origin;  ///< the arguments of load(), if it created the object and other processes can also load the key
};
using AeadObject = Instance<Aead>;

/// Throws ValueError if the mode does not accept nonces of this length.
void check_nonce(const Aead& aead, std::size_t nonce);
/// Throws ValueError if CCM's length field, which has 15 - `nonce` bytes, cannot represent the length of the data.
void check_length(const Aead& aead, std::size_t nonce, std::size_t data);

extern const AeadKind gcm_kind, ccm_kind, gcm_siv_kind, siv_kind;

void add_aead(PyObject* module);
void add_siv(PyObject* module);

/// Methods of all classes: load() reads the key from a place, and __reduce__() pickles the place instead of the key.
Object load_aead(PyObject* type, const Call& call);
Object reduce_aead(PyObject* self, const Call& call);

/// Returns random bytes from the operating system, for `generate_key`.
Object random_bytes(std::size_t count);

// The batch methods of AESGCM and AESCCM (batch.cpp).
Object encrypt_batch(PyObject* self, const Call& call);
Object decrypt_batch(PyObject* self, const Call& call);
Object submit_batch(PyObject* self, const Call& call);
Object submit_batch_into(PyObject* self, const Call& call);
Object enqueue_batch_into(PyObject* type, const Call& call);

}  // namespace warpaes::python
