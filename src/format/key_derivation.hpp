// Key and IV from a passphrase, as `openssl enc` derives them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/secret.hpp"

namespace warpaes {

/// Values are those of `warpaes_kdf` in the C ABI.
enum class Kdf : std::int32_t { pbkdf2 = 0, evp_bytes_to_key = 1 };

struct KeyDerivation {
    Kdf kdf = Kdf::pbkdf2;
    std::uint32_t key_bits = 256;
    std::uint32_t iterations = 10000;  ///< PBKDF2; the older derivation hashes once
    std::string digest = "sha256";     ///< any that libcrypto knows
};

struct DerivedKey {
    std::size_t key_bytes = 0;
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, 16> iv{};
};

/// `salt` is empty or 8 bytes. Throws Error{ARGUMENT} for an unknown digest, Error{KEY_LENGTH} for an odd key_bits.
Secret<DerivedKey> derive_key(const KeyDerivation& how, std::span<const std::uint8_t> passphrase,
                              std::span<const std::uint8_t> salt);

}  // namespace warpaes
