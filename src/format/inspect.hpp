// The information about an encrypted file that is available without a key, from its first bytes and its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.hpp"
#include "format/stream_key.hpp"
#include "warpaes/files.h"

namespace warpaes {

struct FileFacts {
    warpaes_format type = WARPAES_FORMAT_STREAMING_AEAD;
    std::string_view format;                          ///< its name; a literal
    const StreamTemplate* stream_template = nullptr;  ///< the template given by the caller
    std::uint64_t file_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: unknown without a template
    std::uint64_t segments = 0;       ///< 0: unknown without a template
    std::uint64_t plaintext_bytes = Engine::unknown_length;
    std::uint32_t key_bits = 0;  ///< 0: unknown
};

/// `stream_template` is the template to assume; null: recognize the format by its first bytes, which is not possible
/// for formats without a mark. Throws Error{NOT_FOUND, READ}, and Error{FORMAT} if it cannot be such a file.
FileFacts inspect_file(const std::string& path, const StreamTemplate* stream_template);

}  // namespace warpaes
