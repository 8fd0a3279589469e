// The information about an encrypted file that is available without a key, from its first bytes and its length.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.hpp"
#include "format/stream_key.hpp"

namespace warpaes {

/// Values are those of `warpaes_format` in the C ABI.
enum class FileType : std::int32_t { raw = 0, openssl_enc = 1, segments = 2 };

struct FileFacts {
    FileType type = FileType::segments;
    const StreamTemplate* stream_template = nullptr;  ///< the template given by the caller
    std::uint64_t file_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: unknown without a template
    std::uint64_t segments = 0;       ///< 0: unknown without a template
    std::uint64_t plaintext_bytes = Engine::unknown_length;
    std::uint32_t key_bits = 0;  ///< 0: unknown
};

/// `stream_template` is the template to assume; null: recognize the format by its first bytes, which is not possible
/// for C2SP. Throws Error{NOT_FOUND, READ}, and Error{FORMAT} if it cannot be such a file.
FileFacts inspect_file(const std::string& path, const StreamTemplate* stream_template);

}  // namespace warpaes
