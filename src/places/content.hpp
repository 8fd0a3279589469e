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

/// Throws Error{KEYSET} if the keyset is encrypted but `clear` is set, or if it is unencrypted, `clear` is not set and
/// `opener` is not empty. The message begins with `what`; `opener` is the part of the place or the option that requires
/// an encrypted keyset.
void check_mark(const std::string& what, std::string_view text, bool clear, const std::string& opener);

/// The opener or mark in `place` that requires an encrypted keyset; empty if there is none.
std::string opener_of(const KeysetPlace& place);

struct RawKey {
    std::string_view template_name;  ///< the template name before the key in its file; empty if there is none
    SecretVector key;                ///< empty: the text is not a raw key
    bool is_text = false;            ///< whether the key was written in hexadecimal digits
};
/// Returns the raw key if `text` is a raw key: 16 or 32 bytes, or 32 or 64 hexadecimal digits. No keyset is that short.
/// `name_of(i)` is the name of template i, or null after the last template.
RawKey raw_key_in(std::string_view text, const char* (*name_of)(std::size_t));

}  // namespace warpaes::places
