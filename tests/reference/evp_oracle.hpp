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

/// The 16 little-endian bytes of `number` + `units`, modulo 2^128.
Bytes later_unit(Bytes number, std::uint64_t units);

/// XTS. `in` consists of data units of `unit` bytes; 0: it is one unit. The last unit may be shorter, but has at least
/// 16 bytes. `number` is the first unit's number; numbers grow by `step` per unit.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step = 1);

/// A message of any mode.
struct Message {
    std::string mode;
    Bytes key{}, tweak_key{}, iv{}, aad{}, text{};
    std::size_t tag_bytes = 16;
    std::size_t data_unit = 0;  ///< XTS
    std::uint64_t unit_step = 1;
    std::optional<std::size_t> bits = {};  ///< CFB1: the length
};

/// Modes without a tag.
Bytes crypt(const Message& message, bool encrypt);

struct Sealed {
    Bytes text;  ///< ciphertext; of CMAC the message
    Bytes tag;
};
/// GCM, CCM and CMAC; `text` is the plaintext.
Sealed seal(const Message& message);

}  // namespace oracle
