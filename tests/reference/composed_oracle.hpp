// Oracles for modes composed of other modes: libcrypto if it has the mode, otherwise a direct transcription of the RFC.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// AES-KW, or AES-KWP with `padding`, with libcrypto. `icv` is empty for the default value.
Bytes evp_wrap(bool padding, const Bytes& key, const Bytes& icv, const Bytes& text);

/// V and the ciphertext of AES-SIV, computed with libcrypto. It takes K1 and K2 as one key, and treats an empty
/// component as absent.
Bytes evp_siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);
/// Like the function above, but computed from CMAC and CTR as in RFC 5297, 2.4 and 2.6. Handles empty components.
Bytes siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);

/// A direct, slow transcription of RFC 8452. libcrypto has AES-GCM-SIV only since version 3.2.
namespace gcm_siv {

/// Section 3: a * b * x^-128, and POLYVAL of whole blocks.
Bytes dot(const Bytes& a, const Bytes& b);
Bytes polyval(const Bytes& h, const Bytes& x);
/// Returns the inverse of `a` with respect to dot().
Bytes inverse(const Bytes& a);

/// Section 4: the message-authentication key and the message-encryption key.
struct Keys {
    Bytes authentication, encryption;
};
Keys derive(const Bytes& key, const Bytes& nonce);
/// Returns the input of POLYVAL: associated data and text, each padded, then their lengths in bits.
Bytes hashed(const Bytes& aad, const Bytes& text);
/// Returns the ciphertext, followed by the tag.
Bytes seal(const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text);

}  // namespace gcm_siv

}  // namespace oracle
