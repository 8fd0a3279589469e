// A second implementation of the formats, which it distinguishes by name and HMAC. It processes files segment by
// segment, uses only libcrypto, and closely follows the specifications.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/stream_key.hpp"

namespace warpaes::test {

using Bytes = std::vector<std::uint8_t>;

/// The rules for the positions of segments.
struct Rules {
    std::uint64_t header_bytes;
    bool header_counts;    ///< whether the size of the first segment includes the header
    bool last_is_shorter;  ///< the last segment is never full and may be empty
    std::uint64_t most_segments;
};
Rules rules_of(const StreamParameters& p);

/// Returns the whole encrypted file for a plaintext, with the salt (and Tink's nonce prefix) from `header`.
Bytes seal(const StreamKey& key, const Bytes& aad, std::span<const std::uint8_t> header, const Bytes& plaintext);

/// Returns one segment of such a file, at any position.
Bytes seal_segment(const StreamKey& key, const Bytes& aad, std::span<const std::uint8_t> header, std::uint64_t number,
                   bool last, const Bytes& text);

}  // namespace warpaes::test
