// Determines the kind of text at a place: an encrypted keyset, an unencrypted keyset, or a raw key.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/secret.hpp"
#include "places/place.hpp"

namespace warpaes::places {

/// Whether the text is an encrypted keyset, under a passphrase or any other key.
bool is_encrypted(std::string_view text);

/// Throws Error{KEYSET} if the keys are unencrypted without the mark although `place` contains a way to open them, or
/// if they are marked and encrypted. `what` begins the sentence; `opener`: what requires an encrypted keyset; empty:
/// nothing does.
void check_mark(const std::string& what, std::string_view text, bool clear, const std::string& opener);

/// The opener or mark of `place` that requires an encrypted keyset; empty if nothing does.
std::string opener_of(const KeysetPlace& place);

struct RawKey {
    std::string_view template_name;  ///< which stands before the key in its file; empty if none does
    SecretVector key;                ///< empty: the text is not a raw key
    bool is_text = false;            ///< whether the key was written in hexadecimal digits
};
/// The raw key of 16 or 32 bytes, or of 32 or 64 hexadecimal digits, that `text` is. No keyset is that short.
/// `name_of(i)`: the template number i; null after the last.
RawKey raw_key_in(std::string_view text, const char* (*name_of)(std::size_t));

}  // namespace warpaes::places
