// A streaming AEAD key as Tink serialises it: the protobuf messages AesGcmHkdfStreamingKey and AesCtrHmacStreamingKey.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "format/stream_key.hpp"

namespace warpaes {

/// The type of a format's keys; "" for C2SP, which Tink does not have.
std::string_view tink_type_of(SegmentFormat format);
/// Nothing if it is some other type.
std::optional<SegmentFormat> format_of_tink_type(std::string_view type_url);

/// The key's parameters and bytes; its number stands elsewhere. Throws Error{KEYSET}.
StreamKey parse_tink_key(SegmentFormat format, std::span<const std::uint8_t> value);
SecretVector serialize_tink_key(const StreamKey& key);

/// Whether segments of these sizes under these hashes exist, and a key of so many bytes goes with them; by Tink's
/// rules, and segments are bounded, because one has to fit in memory. Throws Error{KEYSET}.
void check_parameters(const StreamParameters& parameters, std::size_t key_bytes);

}  // namespace warpaes
