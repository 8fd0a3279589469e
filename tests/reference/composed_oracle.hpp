// Oracles of the modes that are made of others: libcrypto's, and where it has none, the RFC put as it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// AES-KW, or with `padding` AES-KWP. `icv`: empty, or the caller's own.
Bytes evp_wrap(bool padding, const Bytes& key, const Bytes& icv, const Bytes& text);

/// V and ciphertext of AES-SIV by libcrypto, which is given K1 and K2 as one key, and cannot tell empty components from
/// none.
Bytes evp_siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);
/// The same by RFC 5297, 2.4 and 2.6, from CMAC and CTR, with empty ones.
Bytes siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text);

/// RFC 8452 as it stands, slowly; libcrypto has it from version 3.2 on.
namespace gcm_siv {

/// Section 3: a * b * x^-128, and POLYVAL of whole blocks.
Bytes dot(const Bytes& a, const Bytes& b);
Bytes polyval(const Bytes& h, const Bytes& x);
/// The inverse as to dot().
Bytes inverse(const Bytes& a);

/// Section 4: message-authentication key and message-encryption key.
struct Keys {
    Bytes authentication, encryption;
};
Keys derive(const Bytes& key, const Bytes& nonce);
/// What POLYVAL takes: both padded, and their lengths.
Bytes hashed(const Bytes& aad, const Bytes& text);
/// Ciphertext and tag.
Bytes seal(const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text);

}  // namespace gcm_siv

}  // namespace oracle
