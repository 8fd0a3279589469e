#include "places/place.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace warpaes::places {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
    throw Error(WARPAES_ERROR_ARGUMENT, option + ": " + why);
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Returns the name before '=' at the beginning of `text`, if it could be an opener's name: up to 16 letters and
/// hyphens.
std::string_view opener_name(std::string_view text) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto end = std::find_if_not(text.begin(), text.end(), [&](char c) { return is_letter(c) || c == '-'; });
    const auto length = static_cast<std::size_t>(end - text.begin());
    const bool is_name = length != 0 && length <= 16 && is_letter(text[0]) && end != text.end() && *end == '=';
    return is_name ? text.substr(0, length) : std::string_view();
}

/// Removes and returns the text before the first single semicolon; a double semicolon represents a literal semicolon.
/// Returns nothing if there is no single semicolon.
std::optional<std::string> take_value(std::string_view& text) {
    std::string value;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == ';') {
            if (at + 1 == text.size() || text[at + 1] != ';') {
                text.remove_prefix(at + 1);
                return value;
            }
            ++at;
        }
        value += text[at];
    }
    return std::nullopt;
}

void refuse_contradictions(const std::string& option, const KeysetPlace& place) {
    std::string said;
    int count = 0;
    const auto add = [&](bool is_there, const char* name) {
        if (is_there) said += (count++ == 0 ? "" : " and ") + std::string(name);
    };
    add(place.asks, "passphrase:");
    add(place.passphrase.has_value(), "passphrase=");
    add(place.kek.has_value(), "kek=");
    add(place.clear, "clear:");
    if (count > 1) refuse(option, said + " cannot be combined: leave one out");
    if (place.kek_aad && !place.kek) {
        refuse(option, "kek-aad= requires kek=");
    }
}

}  // namespace

std::optional<std::string> KeysetPlace::path() const {
    for (const char* other : {"env:", "fd:", "exec:", "own:"}) {
        if (location.starts_with(other)) return std::nullopt;
    }
    return location.starts_with("file:") ? location.substr(5) : location;
}

KeysetPlace parse_keyset_place(const std::string& option, std::string_view place) {
    KeysetPlace parsed;
    if (place.empty()) refuse(option, "is empty; give the place of a keyset or a key");
    if (place.find('\0') != std::string_view::npos) refuse(option, "contains a NUL byte");
    for (;;) {
        const std::string name(opener_name(place));
        if (name.empty() || place.find(';') == std::string_view::npos) break;
        std::optional<std::string>* value = name == "passphrase" ? &parsed.passphrase
                                            : name == "kek"      ? &parsed.kek
                                            : name == "kek-aad"  ? &parsed.kek_aad
                                                                 : nullptr;
        if (value == nullptr) {
            refuse(option,
                   "unknown " + name +
                       "=; use passphrase=, kek= or kek-aad=, or write file: before a path that begins like this");
        }
        if (*value) refuse(option, name + "= is given twice");
        place.remove_prefix(name.size() + 1);
        *value = take_value(place);
        if (!*value) refuse(option, name + "= must be followed by ';' and the place of a keyset");
        if ((*value)->empty() && name != "kek-aad") {
            refuse(option, name + "= is empty; give " + std::string(locations));
        }
    }
    parsed.asks = take(place, "passphrase:");
    parsed.clear = take(place, "clear:");
    refuse_contradictions(option, parsed);
    if (place.empty()) refuse(option, "the place of the keyset is empty; give " + std::string(locations));
    parsed.location = place;
    if (parsed.is_own() && parsed.clear) {
        refuse(option, "clear: and own: cannot be combined, because the keyset at the start of a file is encrypted");
    }
    return parsed;
}

std::vector<std::string> variables_named_by(std::string_view place) {
    std::vector<std::string> names;
    for (std::size_t at = 0; (at = place.find("env:", at)) != std::string_view::npos; at += 4) {
        if (at != 0 && std::string_view("=;:").find(place[at - 1]) == std::string_view::npos) continue;
        const std::string_view name = place.substr(at + 4);
        names.emplace_back(name.substr(0, name.find(';')));
    }
    return names;
}

}  // namespace warpaes::places
