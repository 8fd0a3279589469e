// Patterns of secrets: all values that the library derives from a key, and every sixteen bytes of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace secrets {

/// Adds the key, its round keys for both directions, E(K, block) for `blocks`, and the powers of H = E(K, 0). Must be
/// called in a separate process, because it computes with secrets.
void look_for_key(std::span<const std::uint8_t> key, const std::string& name,
                  const std::vector<std::vector<std::uint8_t>>& blocks);

/// Adds values that, together with a GCM message's tag, reveal H: the digests of GHASH, E(K, J0), and the tag of a
/// refused message. Supports only IVs of 12 bytes and no associated data.
void look_for_digests(std::span<const std::uint8_t> key, std::span<const std::uint8_t> iv, std::uint64_t text_bytes,
                      std::span<const std::uint8_t> tag, const std::string& name);

/// Adds the digest of whole blocks of a GCM message's ciphertext. The digest and the ciphertext together determine H.
void look_for_digest(std::span<const std::uint8_t> key, std::span<const std::uint8_t> stretch, const std::string& name);

/// Adds every sixteen bytes of a text whose period is sixteen bytes.
void look_for_text(std::span<const std::uint8_t> period, const std::string& name);

/// Adds the bytes of `secret`, sixteen at a time.
void look_for_bytes(std::span<const std::uint8_t> secret, const std::string& name);

/// Derives `bytes` bytes with PBKDF2-HMAC-SHA256 or, if `rounds` is 0, with EVP_BytesToKey and SHA-256.
std::vector<std::uint8_t> from_passphrase(std::string_view passphrase, std::span<const std::uint8_t> salt, int rounds,
                                          std::size_t bytes);
std::vector<std::uint8_t> hkdf(const char* digest, bool expand_only, std::span<const std::uint8_t> key,
                               std::span<const std::uint8_t> salt, std::span<const std::uint8_t> info,
                               std::size_t bytes);

}  // namespace secrets
