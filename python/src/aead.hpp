// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "message.hpp"

namespace warpaes::python {

/// What the classes of authenticated encryption differ in.
struct AeadKind {
    const char* name;
    warpaes_mode mode;
    std::size_t least_nonce;
    std::size_t most_nonce;
    bool enqueued;  ///< on a GPU: the call need not wait for it
};

/// An object of one of them.
struct Aead {
    const AeadKind* kind = nullptr;
    Key key;
    Key mac_key;  ///< SIV
    std::size_t tag_bytes = 16;
};
using AeadObject = Instance<Aead>;

void check_nonce(const Aead& aead, std::size_t nonce);
void check_length(const Aead& aead, std::size_t nonce, std::size_t data);

extern const AeadKind gcm_kind, ccm_kind, gcm_siv_kind, siv_kind;

void add_aead(PyObject* module);
void add_siv(PyObject* module);

/// warpaes.aead's `generate_key`.
Object random_bytes(std::size_t count);

// What AESGCM and AESCCM have for many messages (batch.cpp).
Object encrypt_batch(PyObject* self, const Call& call);
Object decrypt_batch(PyObject* self, const Call& call);
Object submit_batch(PyObject* self, const Call& call);
Object submit_batch_into(PyObject* self, const Call& call);

}  // namespace warpaes::python
