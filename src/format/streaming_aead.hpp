// Files of authenticated segments: Tink's streaming AEAD and C2SP chunked encryption, as the keyset's keys say.
#pragma once

#include <cstdint>
#include <span>

#include "engine/pipeline/file_job.hpp"
#include "format/keyset.hpp"

namespace warpaes {

/// `range`: decryption reads and authenticates only the segments under it. That the file goes on as it should behind
/// them, and ends where it should, is shown only if the last one is among them: with a range to the end.
struct AeadJob : FileJob {
    const Keyset* keyset = nullptr;
    std::span<const std::uint8_t> aad;
    /// Decryption: authenticates everything and writes nothing; `output` is ignored.
    bool verify = false;
};

/// Throws Error. Nothing that is not authenticated is written; a named output appears when everything was.
FileResult run_aead(Engine& engine, const AeadJob& job);

}  // namespace warpaes
