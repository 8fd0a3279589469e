// Files of authenticated segments: Tink's streaming AEAD and C2SP chunked encryption, as the keyset's keys say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "format/keyset.hpp"
#include "format/place.hpp"

namespace warpaes {

struct AeadJob {
    Direction direction = Direction::encrypt;
    const Keyset* keyset = nullptr;
    std::span<const std::uint8_t> aad;
    bool overwrite = false;
    /// Decryption: authenticates everything and writes nothing; `output` is ignored.
    bool verify = false;
    /// Decryption: reads and authenticates only the segments under the range. That the file goes on as it should behind
    /// them, and ends where it should, is shown only if the last one is among them: with a range to the end.
    std::optional<ByteRange> range;
    Place input;
    Place output;
    Progress progress;
};

struct AeadResult {
    std::uint64_t bytes_read = 0;     ///< with the header
    std::uint64_t bytes_written = 0;  ///< to the output
    std::uint32_t notes = 0;
    std::string_view backend;
    int device = -1;
    std::uint32_t key_id = 0;
};

/// Throws Error. Nothing that is not authenticated is written; a named output appears when everything was.
AeadResult run_aead(Engine& engine, const AeadJob& job);

}  // namespace warpaes
