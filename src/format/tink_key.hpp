// Tink's protobuf messages: AesGcmHkdfStreamingKey and AesCtrHmacStreamingKey, the keys of streaming AEAD, and Keyset,
// which is the plaintext of an encrypted keyset.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/secret.hpp"
#include "format/keyset.hpp"
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

SecretVector serialize_message(const Keyset& keyset);
/// Throws Error{KEYSET}.
Keyset parse_message(std::span<const std::uint8_t> message);

}  // namespace warpaes
