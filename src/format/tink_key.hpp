// A streaming AEAD key as Tink serialises it: the protobuf messages AesGcmHkdfStreamingKey and AesCtrHmacStreamingKey.
#pragma once

#include <span>
#include <string_view>

#include "format/stream_key.hpp"

namespace warpaes {

/// Returns the format whose keys have this type URL, or null.
const SegmentFormat* format_of_tink_type(std::string_view type_url) noexcept;

/// Reads the key's parameters and bytes, but not its ID, which is stored elsewhere. Throws Error{KEYSET}.
StreamKey parse_tink_key(const SegmentFormat& format, std::span<const std::uint8_t> value);
SecretVector serialize_tink_key(const StreamKey& key);

/// Checks segment sizes, hashes and the key size against Tink's rules. Segment sizes also have a maximum, because a
/// segment must fit in memory. Throws Error{KEYSET}.
void check_parameters(const StreamParameters& parameters, std::size_t key_bytes);

}  // namespace warpaes
