// Text in the place of a key: files of keys are text or raw bytes, and one must not be taken for the other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace warpaes {

/// Throws Error{KEYSET} if the bytes are text, in ASCII, UTF-8, UTF-16, UTF-32 or Latin-1, perhaps with zeros after it:
/// a passphrase or a damaged key in hexadecimal, and not a raw key. `what` begins the sentence, which contains none of
/// the text. Of random keys of 16 bytes about one in 100,000
/// is taken for text, of 32 bytes practically none.
void refuse_text(std::span<const std::uint8_t> key, std::string_view what);

/// Removes a byte order mark of UTF-8. Throws Error{KEYSET} for UTF-16 and UTF-32. `what` begins the sentence.
std::string_view without_byte_order_mark(std::string_view text, std::string_view what);

}  // namespace warpaes
