// Key-encryption keys for keysets: AES-GCM, as in Tink's AEAD.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

/// An AES-GCM key and the prefix that identifies it. A sealed text consists of prefix, nonce, ciphertext and tag.
class Kek {
public:
    static constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;

    /// `key` is 16 or 32 bytes long.
    explicit Kek(SecretVector key, std::vector<std::uint8_t> prefix = {})
        : key_(std::move(key)), prefix_(std::move(prefix)) {}

    /// Encrypts `text` with a new random nonce.
    [[nodiscard]] SecretVector seal(std::span<const std::uint8_t> text, std::span<const std::uint8_t> aad) const;
    /// Returns nullopt if the text was encrypted with a different key or different associated data, or if it was
    /// altered.
    [[nodiscard]] std::optional<SecretVector> open(std::span<const std::uint8_t> sealed,
                                                   std::span<const std::uint8_t> aad) const;
    [[nodiscard]] std::size_t sealed_bytes(std::size_t text_bytes) const noexcept {
        return prefix_.size() + nonce_bytes + text_bytes + tag_bytes;
    }

private:
    SecretVector key_;
    std::vector<std::uint8_t> prefix_;
};

/// Returns the enabled keys in the content of a key-encryption key, beginning with the primary key. The content is
/// Tink's JSON of a cleartext keyset of AesGcmKeys; or one key of 16 or 32 bytes, or of 32 or 64 hexadecimal digits
/// with optional white space around them. Throws Error{KEYSET} for any other content; the message never quotes it.
std::vector<Kek> parse_keks(std::span<const std::uint8_t> content);

}  // namespace warpaes
