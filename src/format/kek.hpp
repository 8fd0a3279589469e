// Key-encryption keys of keysets: AES-GCM, as Tink's AEAD has it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

/// One AES-GCM key and the prefix by which it is told from others: prefix, nonce, ciphertext, tag.
class Kek {
public:
    static constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;

    /// `key`: 16 or 32 bytes.
    explicit Kek(SecretVector key, std::vector<std::uint8_t> prefix = {})
        : key_(std::move(key)), prefix_(std::move(prefix)) {}

    /// With a new random nonce.
    [[nodiscard]] SecretVector seal(std::span<const std::uint8_t> text, std::span<const std::uint8_t> aad) const;
    /// Returns nullopt if another key sealed it, with other associated data, or if it was altered.
    [[nodiscard]] std::optional<SecretVector> open(std::span<const std::uint8_t> sealed,
                                                   std::span<const std::uint8_t> aad) const;
    [[nodiscard]] std::size_t sealed_bytes(std::size_t text_bytes) const noexcept {
        return prefix_.size() + nonce_bytes + text_bytes + tag_bytes;
    }

private:
    SecretVector key_;
    std::vector<std::uint8_t> prefix_;
};

/// The enabled keys in the text of a key-encryption key, the primary first: Tink's JSON of a cleartext keyset of
/// AesGcmKeys; or one key of 16 or 32 bytes, or of 32 or 64 hexadecimal digits with white space around them. Throws
/// Error{KEYSET}, whose sentence contains nothing of the text.
std::vector<Kek> parse_keks(std::span<const std::uint8_t> content);

}  // namespace warpaes
