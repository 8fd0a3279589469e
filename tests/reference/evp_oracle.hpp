// Oracle: libcrypto's EVP. It is independent of the library under test, and fast enough for long messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// `mode` is "ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB" or "CTR". `bits` is the length in bits, only for CFB1.
/// `padding` adds or removes PKCS#7 padding; the result is empty if the padding is wrong.
std::optional<Bytes> evp(const std::string& mode, bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& in,
                         bool padding = false, std::optional<std::size_t> bits = std::nullopt);

/// AES-GCM encryption: the ciphertext, followed by 16 bytes of tag. `iv` has at least one byte.
Bytes evp_gcm(const Bytes& key, const Bytes& iv, const Bytes& plaintext, const Bytes& aad);

/// AES-CCM encryption: the ciphertext, followed by `tag_bytes` of tag.
Bytes evp_ccm(const Bytes& key, const Bytes& nonce, const Bytes& plaintext, const Bytes& aad, std::size_t tag_bytes);

/// AES-CMAC, 16 bytes.
Bytes evp_cmac(const Bytes& key, const Bytes& message);

}  // namespace oracle
