// Shared code of the AES-GCM tests.
#pragma once

#include "support.hpp"

namespace abi_tests {

/// A message with its oracle's answer: libcrypto's ciphertext and tag.
struct GcmCase {
    Bytes key, iv, aad, text;
    Bytes sealed;  ///< ciphertext
    Bytes tag;     ///< 16 bytes
};
GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes);

/// The 16-byte IV with the pre-counter block `j0`, so that the counter can begin anywhere.
Bytes iv_of(const Bytes& key, const Bytes& j0);
/// Another IV for the case.
void change_iv(GcmCase& c, const Bytes& iv);

/// `input` to `output` with everything else from the case; `tag`: 16 bytes. The arguments must outlive it.
Call gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                 void* tag);

}  // namespace abi_tests
