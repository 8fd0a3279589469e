// Shared code of the AES-GCM tests.
#pragma once

#include "support.hpp"

namespace abi_tests {

/// A message with libcrypto's ciphertext and tag as the expected result.
struct GcmCase {
    Bytes key, iv, aad, text;
    Bytes sealed;  ///< ciphertext
    Bytes tag;     ///< 16 bytes
};
GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes);

/// Returns the 16-byte IV whose pre-counter block is `j0`, so that the counter can start anywhere.
Bytes iv_of(const Bytes& key, const Bytes& j0);
/// Gives the case another IV and recomputes its expected result.
void change_iv(GcmCase& c, const Bytes& iv);

/// Returns a call from `input` to `output` with all other arguments from the case. `tag` has 16 bytes. The arguments
/// must outlive the call.
Call gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                 void* tag);

}  // namespace abi_tests
