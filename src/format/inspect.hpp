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
    std::string_view format;                          ///< the format's name; a string literal
    const StreamTemplate* stream_template = nullptr;  ///< the template that the caller specified
    std::uint64_t file_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: unknown without a template
    std::uint64_t segments = 0;       ///< 0: unknown without a template
    std::uint64_t plaintext_bytes = Engine::unknown_length;
    std::uint32_t key_bits = 0;  ///< 0: unknown
};

/// `stream_template` is the template to assume. If it is null, the format is recognized by the file's first bytes,
/// which is not possible for formats without a mark. Throws Error{NOT_FOUND} or Error{READ}, and Error{FORMAT} if the
/// file cannot have the format.
FileFacts inspect_file(const std::string& path, const StreamTemplate* stream_template);

}  // namespace warpaes
