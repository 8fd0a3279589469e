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

}  // namespace warpaes::places
