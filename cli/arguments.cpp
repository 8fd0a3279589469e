#include "arguments.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "places/key_text.hpp"
#include "places/place.hpp"

namespace cli {

using warpaes::places::looks_like_key;
using warpaes::places::variables_named_by;

namespace {

std::span<char*> arguments;

/// The maximum number of one-letter options combined in one argument. The value of the last option may follow its
/// letter.
constexpr std::size_t most_letters = 8;

/// Whether `text` is a path that exists or whose directory exists. A name directly below "/" counts only if it exists,
/// because a base64 key can begin with '/'.
bool is_path(const std::string& text) {
    if (::access(text.c_str(), F_OK) == 0) return true;
    const std::size_t slash = text.rfind('/');
    return slash != std::string::npos && slash != 0 && ::access(text.substr(0, slash).c_str(), F_OK) == 0;
}

/// Returns the length of the UTF-8 character at the beginning of `text`, or 0 if it must not be written to a terminal:
/// a control character, a character that changes the writing direction, or a byte that is not UTF-8.
std::size_t shown_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    if (byte(0) < 0x80) return byte(0) < 0x20 || byte(0) == 0x7f ? 0 : 1;
    const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    std::uint32_t code = byte(0) & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::uint32_t least[] = {0xa0, 0x800, 0x10000};
    const bool turns =
        (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    const bool valid = byte(0) >= 0xc2 && byte(0) <= 0xf4 && code >= least[length - 2] && code <= 0x10ffff &&
                       (code < 0xd800 || code > 0xdfff);
    return valid && !turns ? length : 0;
}

void hide(std::string& sentence, std::string_view text) {
    if (!looks_like_key(text) || is_path(std::string(text))) return;
    for (std::size_t at = sentence.find(text); at != std::string::npos; at = sentence.find(text, at)) {
        sentence.replace(at, text.size(), "…");
    }
}

/// Hides `argument` in `sentence` if it is a key. Also hides any part of it that is a key and follows a prefix such as
/// "-k", "-fk", "--keys=", "env:" or "clear:env:".
void hide_parts(std::string& sentence, std::string_view argument) {
    hide(sentence, argument);
    const std::size_t last = argument.starts_with('-') ? std::min(argument.size(), most_letters + 1) : 0;
    for (std::size_t at = 1; at < last; ++at) hide(sentence, argument.substr(at));
    for (std::size_t at = 0; (at = argument.find_first_of("=:", at)) != std::string_view::npos;) {
        hide(sentence, argument.substr(++at));
    }
}

}  // namespace

void remember_arguments(int argc, char** argv) {
    arguments = {argv, static_cast<std::size_t>(argc)};
}

std::vector<std::string> variables_in_arguments() {
    std::vector<std::string> names;
    for (const std::string_view argument : arguments) {
        // A place can be a whole argument, or follow an option: after "=" as in "--kek=PLACE", or after the letter of
        // an option as in "-kPLACE" or "-vkPLACE".
        const std::size_t letters = argument.starts_with("--")  ? std::min(argument.find('=') + 1, argument.size())
                                    : argument.starts_with('-') ? std::min(most_letters + 1, argument.size())
                                                                : 0;
        const std::size_t first = argument.starts_with("--") ? letters : 0;
        for (std::size_t at = first; at <= letters; ++at) {
            for (std::string& name : variables_named_by(argument.substr(at))) names.push_back(std::move(name));
        }
    }
    return names;
}

std::string without_keys(std::string sentence) {
    for (const char* argument : arguments) hide_parts(sentence, argument);
    if (const char* variable = std::getenv("WARPAES_KEYSET")) hide_parts(sentence, variable);
    return sentence;
}

std::string one_line(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = shown_bytes(text);
        if (length != 0) {
            out += text.substr(0, length);
            text.remove_prefix(length);
            continue;
        }
        // U+0080 to U+009F are written as \x80 to \x9f, without the first byte of their UTF-8 encoding.
        if (text.size() > 1 && text[0] == '\xc2' && (text[1] & '\xe0') == '\x80') text.remove_prefix(1);
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace cli
