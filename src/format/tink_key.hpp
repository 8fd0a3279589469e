// A streaming AEAD key as Tink serialises it: the protobuf messages AesGcmHkdfStreamingKey and AesCtrHmacStreamingKey.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "format/stream_key.hpp"

namespace warpaes {

/// The type URL of a format's keys; "" for C2SP, which Tink does not have.
std::string_view tink_type_of(SegmentFormat format);
/// Returns nullopt for any other type.
std::optional<SegmentFormat> format_of_tink_type(std::string_view type_url);

/// Reads the key's parameters and bytes, but not its number, which is stored elsewhere. Throws Error{KEYSET}.
StreamKey parse_tink_key(SegmentFormat format, std::span<const std::uint8_t> value);
SecretVector serialize_tink_key(const StreamKey& key);

/// Checks segment sizes, hashes and the key size against Tink's rules. Segment sizes also have a maximum, because a
/// segment must fit in memory. Throws Error{KEYSET}.
void check_parameters(const StreamParameters& parameters, std::size_t key_bytes);

}  // namespace warpaes
