// What can be said about an encrypted file without its key: from its first bytes and its length.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.hpp"
#include "format/stream_key.hpp"

namespace warpaes {

struct FileFacts {
    bool openssl_enc = false;                         ///< else authenticated segments
    const StreamTemplate* stream_template = nullptr;  ///< the one asked for
    std::uint64_t file_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: not known without a template
    std::uint64_t segments = 0;       ///< likewise
    std::uint64_t plaintext_bytes = Engine::unknown_length;
    std::uint32_t key_bits = 0;  ///< 0: not known
};

/// `stream_template`: what to take the file for; null: what its first bytes say, which C2SP's do not. Throws
/// Error{NOT_FOUND, READ}; Error{FORMAT} if it cannot be such a file.
FileFacts inspect_file(const std::string& path, const StreamTemplate* stream_template);

}  // namespace warpaes
