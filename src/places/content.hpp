// Determines the kind of text at a place: an encrypted keyset, an unencrypted keyset, or a raw key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.hpp"
#include "places/place.hpp"
#include "warpaes/files.h"

namespace warpaes::places {

/// Whether the text is an encrypted keyset, under a passphrase or any other key.
bool is_encrypted(std::string_view text);

/// Throws Error{KEYSET} if the keyset is encrypted but `clear` is set, or if it is unencrypted, `clear` is not set and
/// `opener` is not empty. The message begins with `what`; `opener` is the part of the place or the option that requires
/// an encrypted keyset.
void check_mark(const std::string& what, std::string_view text, bool clear, const std::string& opener);

/// Returns the opener or mark in `place` that requires an encrypted keyset, or an empty text if there is none.
std::string opener_of(const KeysetPlace& place);

struct RawKey {
    std::string_view template_name;  ///< the template name before the key in its file; empty if there is none
    SecretVector key;                ///< empty: the text is not a raw key
    bool is_text = false;            ///< whether the key was written in hexadecimal digits
};
/// Returns the raw key if `text` is a raw key: 16 or 32 bytes, or 32 or 64 hexadecimal digits. No keyset is that short.
/// `name_of(i)` is the name of template i, or null after the last template.
RawKey raw_key_in(std::string_view text, const char* (*name_of)(std::size_t));

/// The templates that the library has: warpaes_template_name and warpaes_template_query.
struct Templates {
    const char* (*name_of)(std::size_t index);
    warpaes_status (*query)(const char* name, warpaes_template_info* info);
};

/// The requirements for the text at a place.
struct Expected {
    bool clear = false;                          ///< the place is marked as not encrypted
    std::string opener{};                        ///< the option that requires an encrypted keyset; empty: none
    std::string template_option = "template";    ///< the option with the template, for messages
    std::optional<std::string> template_name{};  ///< of a raw key; nothing: the template in the text, or by length
    bool any_bytes = false;                      ///< 16 or 32 bytes are a raw key, even if they look like text
};

struct Content {
    enum class Kind { encrypted, raw, keyset };
    Kind kind = Kind::keyset;
    RawKey key{};                 ///< of kind raw
    std::string template_name{};  ///< of kind raw: never empty
};

/// Determines the content of `text`, whose name in messages is `what`. A raw key has the expected template, the
/// template in the text, or the first template for its length. Throws Error{ARGUMENT} if the first two differ, and
/// Error as check_mark().
Content content_of(const std::string& what, std::string_view text, const Expected& expected,
                   const Templates& templates);

/// Throws Error{ARGUMENT} if a template is expected, because `what` is not a raw key.
void refuse_template(const std::string& what, const Expected& expected);

}  // namespace warpaes::places
