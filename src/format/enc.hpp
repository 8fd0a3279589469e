// Files in the format of `openssl enc`. With a key and an IV, the file contains only ciphertext. With a passphrase, the
// file begins with "Salted__" and the salt, and the key and IV are derived from the passphrase and the salt. Both kinds
// of files may be encoded in base64.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "format/file_job.hpp"

namespace warpaes {

/// Precedes the salt at the beginning of a file.
inline constexpr std::string_view enc_magic = "Salted__";

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

struct PassphraseSecret {
    KeyDerivation how;
    std::span<const std::uint8_t> text;
    bool salted = true;
    /// A salt that both sides know, so the file does not contain it. If empty, a random salt is stored in the header.
    std::span<const std::uint8_t> salt;
};

struct EncOptions {
    Mode mode = Mode::ctr;
    const ExpandedKey* key = nullptr;                 ///< overrides the passphrase's key
    std::optional<std::span<const std::uint8_t>> iv;  ///< overrides the passphrase's IV
    std::optional<PassphraseSecret> passphrase;
    bool pkcs7 = false;
};

/// `job` must outlive the result. Throws Error{ARGUMENT}, Error{IV_LENGTH} or Error{RANGE} if the options contradict
/// each other.
std::unique_ptr<FileFormat> enc_format(const FileJob& job, const EncOptions& options);

}  // namespace warpaes
