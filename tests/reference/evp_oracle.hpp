// Wraps libcrypto's EVP as an oracle. It is independent of the library under test and fast enough for long messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// `mode` is "ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB" or "CTR". `bits` is the length in bits and is used only for
/// CFB1. `padding` adds or removes PKCS#7 padding. The result is empty if the padding is wrong.
std::optional<Bytes> evp(const std::string& mode, bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& in,
                         bool padding = false, std::optional<std::size_t> bits = std::nullopt);

/// Encrypts with AES-GCM. Returns the ciphertext followed by a 16-byte tag. `iv` has at least one byte.
Bytes evp_gcm(const Bytes& key, const Bytes& iv, const Bytes& plaintext, const Bytes& aad);

/// Encrypts with AES-CCM. Returns the ciphertext followed by a tag of `tag_bytes` bytes.
Bytes evp_ccm(const Bytes& key, const Bytes& nonce, const Bytes& plaintext, const Bytes& aad, std::size_t tag_bytes);

/// Returns the 16-byte AES-CMAC.
Bytes evp_cmac(const Bytes& key, const Bytes& message);

/// Returns the 16 little-endian bytes of `number` + `units`, modulo 2^128.
Bytes later_unit(Bytes number, std::uint64_t units);

/// Computes XTS. `in` consists of data units of `unit` bytes, or of a single unit if `unit` is 0. The last unit may be
/// shorter but has at least 16 bytes. `number` is the first unit's number, and numbers increase by `step` per unit.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step = 1);

/// A message in any mode.
struct Message {
    std::string mode;
    Bytes key{}, tweak_key{}, iv{}, aad{}, text{};
    std::size_t tag_bytes = 16;
    std::size_t data_unit = 0;  ///< for XTS
    std::uint64_t unit_step = 1;
    std::optional<std::size_t> bits = {};  ///< length in bits, for CFB1
};

/// Encrypts or decrypts a message in a mode without a tag.
Bytes crypt(const Message& message, bool encrypt);

struct Sealed {
    Bytes text;  ///< ciphertext; for CMAC, the message
    Bytes tag;
};
/// Seals a message in GCM, CCM or CMAC. Its `text` is the plaintext.
Sealed seal(const Message& message);

}  // namespace oracle
