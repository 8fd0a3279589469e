// libcrypto's EVP as an oracle: independent of the library under test, fast enough for long messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// `mode`: "ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB" or "CTR". `bits`: CFB1 only, the length in bits. With
/// `padding` PKCS#7; nothing if it is wrong.
std::optional<Bytes> evp(const std::string& mode, bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& in,
                         bool padding = false, std::optional<std::size_t> bits = std::nullopt);

/// AES-GCM encryption: ciphertext and 16 bytes of tag, one after the other. `iv`: at least one byte.
Bytes evp_gcm(const Bytes& key, const Bytes& iv, const Bytes& plaintext, const Bytes& aad);

/// AES-CCM encryption: ciphertext and `tag_bytes` of tag, one after the other.
Bytes evp_ccm(const Bytes& key, const Bytes& nonce, const Bytes& plaintext, const Bytes& aad, std::size_t tag_bytes);

/// 16 bytes of AES-CMAC.
Bytes evp_cmac(const Bytes& key, const Bytes& message);

}  // namespace oracle
