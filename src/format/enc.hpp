// Files as `openssl enc` has them: ciphertext alone under a key and an IV, or behind "Salted__" and the salt from which
// a passphrase gives both; either of them as base64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.hpp"
#include "engine/pipeline/pipeline.hpp"
#include "format/key_derivation.hpp"
#include "format/place.hpp"

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

struct EncJob {
    Mode mode = Mode::ctr;
    Direction direction = Direction::encrypt;
    const ExpandedKey* key = nullptr;  ///< takes precedence over the passphrase's
    std::optional<Block> iv;           ///< likewise
    std::optional<PassphraseSecret> passphrase;
    bool pkcs7 = false;
    bool base64 = false;
    bool one_line = false;
    bool overwrite = false;
    std::optional<ByteRange> range;
    Place input;
    Place output;
    Progress progress;
};

struct EncResult {
    std::uint64_t bytes_read = 0;     ///< as the cipher saw them, and the header
    std::uint64_t bytes_written = 0;  ///< to the file
    std::uint32_t notes = 0;
    std::string_view backend;
    int device = -1;
};

/// Throws Error; then there is no output file.
EncResult run_enc(Engine& engine, const EncJob& job);

}  // namespace warpaes
