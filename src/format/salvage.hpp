// The authentic segments of a damaged file.
#pragma once

#include <memory>

#include "format/streaming_aead.hpp"

namespace warpaes {

/// Decrypts every authentic segment, and writes zeros in place of the others. Calls job.hole for each range of zeros.
/// `job` must outlive the result. Throws Error{ARGUMENT, KEYSET}; open() throws Error{AUTHENTICATION} if no segment
/// opens with any key, and Error{ARGUMENT} for an input that cannot seek.
std::unique_ptr<FileFormat> salvage_format(const FileJob& job, const AeadOptions& options);

}  // namespace warpaes
