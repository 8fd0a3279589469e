#include "places/content.hpp"

#include "base/error.hpp"
#include "places/key_text.hpp"

namespace warpaes::places {

namespace {

bool is_raw_length(std::size_t bytes) {
    return bytes == 16 || bytes == 32;
}

/// Removes the template name and the space that `warpaes keygen` writes before a key whose format has no keysets.
std::string_view take_template(std::string_view& digits, const char* (*name_of)(std::size_t)) {
    for (std::size_t i = 0; name_of(i) != nullptr; ++i) {
        const std::string_view name = name_of(i);
        if (!digits.starts_with(name) || digits.size() <= name.size() || digits[name.size()] != ' ') continue;
        digits = trimmed(digits.substr(name.size()));
        return name;
    }
    return {};
}

/// Returns the first template for raw keys of this length.
std::string template_for(std::size_t key_bytes, const Templates& templates) {
    for (std::size_t i = 0; const char* const name = templates.name_of(i); ++i) {
        warpaes_template_info info = WARPAES_TEMPLATE_INFO_INIT;
        if (templates.query(name, &info) == WARPAES_OK && info.key_bits == 8 * key_bytes) return name;
    }
    throw Error(WARPAES_ERROR_INTERNAL, "no template has keys of " + std::to_string(key_bytes) + " bytes");
}

}  // namespace

bool is_encrypted(std::string_view text) {
    return text.find("\"encryptedKeyset\"") != std::string_view::npos;
}

std::string opener_of(const KeysetPlace& place) {
    return place.asks ? "passphrase:" : place.kek ? "kek=" : place.passphrase ? "passphrase=" : "";
}

void check_mark(const std::string& what, std::string_view text, bool clear, const std::string& opener) {
    const bool encrypted = is_encrypted(text);
    if (encrypted && clear) {
        throw Error(WARPAES_ERROR_KEYSET,
                    what + ": is encrypted, but clear: requires an unencrypted keyset; leave clear: out");
    }
    if (encrypted || clear || opener.empty()) return;
    throw Error(WARPAES_ERROR_KEYSET,
                what + ": is not an encrypted keyset, and " + opener +
                    " requires one: another file may have replaced yours. Restore the encrypted keyset, or, if an "
                    "unencrypted keyset is intended, write clear: before its place, as in -k clear:FILE");
}

RawKey raw_key_in(std::string_view text, const char* (*name_of)(std::size_t)) {
    RawKey raw;
    std::string_view digits = trimmed(text);
    raw.template_name = take_template(digits, name_of);
    raw.is_text = digits.size() % 2 == 0 && is_raw_length(digits.size() / 2) && is_hex(digits);
    if (raw.is_text) {
        raw.key.resize(digits.size() / 2);
        decode_hex(digits, raw.key.data());
    } else if (is_raw_length(text.size())) {
        raw.template_name = {};
        raw.key.assign(text.begin(), text.end());
    }
    return raw;
}

Content content_of(const std::string& what, std::string_view text, const Expected& expected,
                   const Templates& templates) {
    check_mark(what, text, expected.clear, expected.opener);
    Content content;
    if (expected.any_bytes && is_raw_length(text.size())) {
        content.key.key.assign(text.begin(), text.end());
        content.key.is_text = true;  // the caller need not check whether it is text
    } else if (is_encrypted(text)) {
        content.kind = Content::Kind::encrypted;
        return content;
    } else {
        content.key = raw_key_in(text, templates.name_of);
        if (content.key.key.empty()) return content;
    }
    content.kind = Content::Kind::raw;
    const std::string own(content.key.template_name);
    if (!own.empty() && own != expected.template_name.value_or(own)) {
        throw Error(WARPAES_ERROR_ARGUMENT, expected.template_option + ": the key in " + what + " is for " + own);
    }
    content.template_name = !own.empty()             ? own
                            : expected.template_name ? *expected.template_name
                                                     : template_for(content.key.key.size(), templates);
    return content;
}

void refuse_template(const std::string& what, const Expected& expected) {
    if (!expected.template_name) return;
    throw Error(WARPAES_ERROR_ARGUMENT, expected.template_option + ": applies only to raw keys; the keyset in " + what +
                                            " determines its formats");
}

}  // namespace warpaes::places
