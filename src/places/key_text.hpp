// Text around keys and passphrases: white space, hexadecimal digits, and text that may be a secret.
#pragma once

#include <string>
#include <string_view>

namespace warpaes::places {

/// Returns `text` without surrounding white space and without a UTF-8 byte order mark.
std::string_view trimmed(std::string_view text);
bool is_hex(std::string_view text);
/// Returns the value of a hexadecimal digit, or -1 for any other character.
int hex_digit(char c);
/// Whether `text` could be a key or most of a key, in hexadecimal, base64 or JSON; messages must not repeat such text.
bool looks_like_key(std::string_view text);
/// Decodes `digits`, an even number of hexadecimal digits, to half as many bytes in `bytes`. Digits are not checked.
/// The caller must wipe `digits`.
void decode_hex(std::string_view digits, unsigned char* bytes);
/// Returns the number in "fd:N". Throws Error{ARGUMENT}, whose message repeats only digits.
int parse_fd(const std::string& what, const std::string& number);
/// Returns the rest of `text` after `prefix`, or null if `text` does not begin with `prefix`.
const char* after(const char* text, const char* prefix);

}  // namespace warpaes::places
