// Files of authenticated segments: Tink's streaming AEAD and C2SP chunked encryption, as the keyset's keys say.
#pragma once

#include <cstdint>
#include <span>

#include "format/file_job.hpp"
#include "format/keyset.hpp"

namespace warpaes {

struct AeadOptions {
    const Keyset* keyset = nullptr;
    std::span<const std::uint8_t> aad;
};

/// A range: decryption reads and authenticates only the segments under it. That the file goes on as it should behind
/// them, and ends where it should, is shown only if the last one is among them: with a range to the end. Nothing that
/// is not authenticated is written. `job` must outlive it. Throws Error{ARGUMENT, RANGE, KEYSET}.
std::unique_ptr<FileFormat> aead_format(const FileJob& job, const AeadOptions& options);

}  // namespace warpaes
