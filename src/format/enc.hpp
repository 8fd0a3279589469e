// Files as `openssl enc` has them: ciphertext alone under a key and an IV, or behind "Salted__" and the salt from which
// a passphrase gives both; either of them as base64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.hpp"
#include "format/file_job.hpp"
#include "format/key_derivation.hpp"

namespace warpaes {

/// What a salt in front of a file follows.
inline constexpr std::string_view enc_magic = "Salted__";

struct PassphraseSecret {
    KeyDerivation how;
    std::span<const std::uint8_t> text;
    bool salted = true;
    /// A salt that both sides know, and so is neither written nor read; empty: a random one in the header.
    std::span<const std::uint8_t> salt;
};

struct EncOptions {
    Mode mode = Mode::ctr;
    const ExpandedKey* key = nullptr;                 ///< takes precedence over the passphrase's
    std::optional<std::span<const std::uint8_t>> iv;  ///< likewise
    std::optional<PassphraseSecret> passphrase;
    bool pkcs7 = false;
};

/// `job` must outlive it. Throws Error{ARGUMENT, IV_LENGTH, RANGE} for what does not go together.
std::unique_ptr<FileFormat> enc_format(const FileJob& job, const EncOptions& options);

}  // namespace warpaes
