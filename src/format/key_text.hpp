// Detects text where a raw key is expected: key files contain either text or raw bytes, and one must not be mistaken
// for the other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace warpaes {

/// Throws Error{KEYSET} if the bytes are text (ASCII, UTF-8, UTF-16, UTF-32 or Latin-1, possibly padded with zeros).
/// Such text is a passphrase or a damaged hexadecimal key, not a raw key. The message begins with `what` and never
/// quotes the text. About one in 100,000 random 16-byte keys is mistaken for text, and practically no 32-byte key.
void refuse_text(std::span<const std::uint8_t> key, std::string_view what);

/// Removes a UTF-8 byte order mark. Throws Error{KEYSET} for UTF-16 and UTF-32. The message begins with `what`.
std::string_view without_byte_order_mark(std::string_view text, std::string_view what);

}  // namespace warpaes
