// Files of authenticated segments: Tink's streaming AEAD and C2SP chunked encryption, depending on the keyset's keys.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "format/file_job.hpp"
#include "format/keyset.hpp"

namespace warpaes {

struct AeadOptions {
    const Keyset* keyset = nullptr;
    std::span<const std::uint8_t> aad;
};

/// With a range, decryption reads and authenticates only the segments that contain the range. Truncation, or damage
/// after the range, is detected only if the range includes the last segment, as a range to the end does.
/// Unauthenticated plaintext is never written. `job` must outlive the result. Throws Error{ARGUMENT}, Error{RANGE} or
/// Error{KEYSET}.
std::unique_ptr<FileFormat> aead_format(const FileJob& job, const AeadOptions& options);

/// Decrypts every authentic segment, and writes zeros in place of the other segments. Calls job.hole for each range of
/// zeros. `job` must outlive the result. Throws Error{ARGUMENT} or Error{KEYSET}; open() throws Error{AUTHENTICATION}
/// if no segment opens with any key, and Error{ARGUMENT} for an input that cannot seek.
std::unique_ptr<FileFormat> salvage_format(const FileJob& job, const AeadOptions& options);

}  // namespace warpaes
