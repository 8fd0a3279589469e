// Derives a key and an IV from a passphrase as `openssl enc` does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/secret.hpp"

namespace warpaes {

/// The values match `warpaes_kdf` in the C ABI.
enum class Kdf : std::int32_t { pbkdf2 = 0, evp_bytes_to_key = 1 };

struct KeyDerivation {
    Kdf kdf = Kdf::pbkdf2;
    std::uint32_t key_bits = 256;
    std::uint32_t iterations = 10000;  ///< for PBKDF2; the older derivation uses a single iteration
    std::string digest = "sha256";     ///< any digest that libcrypto supports
};

struct DerivedKey {
    std::size_t key_bytes = 0;
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, 16> iv{};
};

/// `salt` is empty or 8 bytes. Throws Error{ARGUMENT} for an unknown digest, and Error{KEY_LENGTH} for an invalid
/// key_bits.
Secret<DerivedKey> derive_key(const KeyDerivation& how, std::span<const std::uint8_t> passphrase,
                              std::span<const std::uint8_t> salt);

}  // namespace warpaes
