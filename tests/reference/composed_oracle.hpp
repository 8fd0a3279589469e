// Oracles for modes that are composed of other modes. They use libcrypto if it supports the mode, and otherwise
// transcribe the RFC directly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// Computes AES-KW or, with `padding`, AES-KWP with libcrypto. `icv` is empty for the default value.
Bytes evp_wrap(bool padding, const Bytes& key, const Bytes& icv, const Bytes& text);

/// Returns V and the ciphertext of AES-SIV, computed with libcrypto, which accepts K1 and K2 as one key and treats an
/// empty component as absent.
Bytes evp_siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);
/// Like evp_siv(), but computed from CMAC and CTR as in RFC 5297, 2.4 and 2.6. Handles empty components.
Bytes siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);

/// A direct, slow transcription of RFC 8452. libcrypto supports AES-GCM-SIV only since version 3.2.
namespace gcm_siv {

/// Compute a * b * x^-128 (section 3), and POLYVAL of whole blocks.
Bytes dot(const Bytes& a, const Bytes& b);
Bytes polyval(const Bytes& h, const Bytes& x);
/// Returns the inverse of `a` with respect to dot().
Bytes inverse(const Bytes& a);

/// The message-authentication key and the message-encryption key (section 4).
struct Keys {
    Bytes authentication, encryption;
};
Keys derive(const Bytes& key, const Bytes& nonce);
/// Returns the input of POLYVAL: the associated data and the text, each padded, followed by their lengths in bits.
Bytes hashed(const Bytes& aad, const Bytes& text);
/// Returns the ciphertext, followed by the tag.
Bytes seal(const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text);

}  // namespace gcm_siv

}  // namespace oracle
