#include "format/key_text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace warpaes {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

bool is_space(std::uint32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_printable_ascii(std::uint32_t c) {
    return is_space(c) || (c > 0x20 && c < 0x7f);
}

/// Whether `c` is a letter, mark, punctuation or ideograph of a widely used script; false for control and private
/// characters.
bool is_printable(std::uint32_t c) {
    return is_printable_ascii(c) || (c >= 0xa0 && c < 0x1200) || (c >= 0x1e00 && c < 0x2100) ||
           (c >= 0x3000 && c < 0x3200) || (c >= 0x4e00 && c < 0xa000) || (c >= 0xac00 && c < 0xd7a4) ||
           (c >= 0xff00 && c < 0xfff0) || (c >= 0x1f300 && c < 0x1fb00);
}

/// Decodes the UTF-8 character at `at` and moves `at` past it. Returns 0 for bytes that are not UTF-8.
std::uint32_t next_utf8(Bytes text, std::size_t& at) {
    const std::uint8_t first = text[at++];
    if (first < 0x80) return first;
    const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() - at < more) return 0;
    std::uint32_t c = first & (0x3fU >> more);
    for (std::size_t i = 0; i < more; ++i, ++at) {
        if ((text[at] & 0xc0) != 0x80) return 0;
        c = c << 6 | (text[at] & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0x80, 0x800, 0x10000};
    return c >= least[more - 1] ? c : 0;
}

bool is_utf8(Bytes text) {
    for (std::size_t at = 0; at < text.size();) {
        if (!is_printable(next_utf8(text, at))) return false;
    }
    return !text.empty();
}

/// Whether the bytes are mostly ASCII with a few letters of Latin-1. A random key has more bytes above 0x7f than such
/// text.
bool is_latin1(Bytes text) {
    std::size_t letters = 0;
    for (const std::uint8_t c : text) {
        if (c >= 0xc0 && c != 0xd7 && c != 0xf7) {
            ++letters;
        } else if (!is_printable_ascii(c)) {
            return false;
        }
    }
    return letters <= text.size() * text.size() / 256;
}

std::uint32_t unit_at(Bytes text, std::size_t at, std::size_t bytes, bool big) {
    std::uint32_t c = 0;
    for (std::size_t i = 0; i < bytes; ++i) c = c << 8 | text[at + (big ? i : bytes - 1 - i)];
    return c;
}

/// Whether all code units in the text, each of `bytes` bytes, are printable. Without a byte order mark, they must also
/// belong to Latin, or to Latin and one other block of 256 characters, as in text in one alphabet with spaces; random
/// units do not.
bool is_wide(Bytes text, std::size_t bytes, bool big) {
    if (text.size() < 2 * bytes || text.size() % bytes != 0) return false;
    const bool marked = unit_at(text, 0, bytes, big) == 0xfeff;
    bool latin = false;
    std::uint32_t blocks[2] = {~0U, ~0U};
    for (std::size_t at = marked ? bytes : 0; at < text.size(); at += bytes) {
        const std::uint32_t c = unit_at(text, at, bytes, big), block = c >> 8;
        if (!is_printable(c)) return false;
        latin = latin || block == 0;
        if (blocks[0] == ~0U || blocks[0] == block) {
            blocks[0] = block;
        } else if (blocks[1] == ~0U || blocks[1] == block) {
            blocks[1] = block;
        } else if (!marked) {
            return false;
        }
    }
    return marked || latin;
}

/// Removes the zeros that pad text in a buffer.
Bytes without_padding(Bytes text) {
    constexpr std::size_t shortest = 4;
    std::size_t size = text.size();
    while (size != 0 && text[size - 1] == 0) --size;
    return size >= shortest ? text.first(size) : text;
}

/// Returns the encoding of text, or nullptr for bytes that are not text.
const char* encoding_of(Bytes key) {
    for (const bool big : {false, true}) {
        if (is_wide(key, 2, big)) return "text in UTF-16";
        if (is_wide(key, 4, big)) return "text in UTF-32";
    }
    const Bytes text = without_padding(key);
    return is_utf8(text) || is_latin1(text) ? "text" : nullptr;
}

}  // namespace

void refuse_text(Bytes key, std::string_view what) {
    const char* const encoding = encoding_of(key);
    if (encoding == nullptr) return;
    throw Error(WARPAES_ERROR_KEYSET,
                std::string(what) + " is " + encoding +
                    ", not a raw key; it may be a passphrase or a truncated hexadecimal key. Keys in hexadecimal have "
                    "32 or 64 digits; a passphrase protects a keyset (`warpaes keygen --passphrase`)");
}

std::string_view without_byte_order_mark(std::string_view text, std::string_view what) {
    if (text.starts_with(utf8_mark)) return text.substr(utf8_mark.size());
    const bool wide = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
                      (text.size() >= 4 && ((text[0] == '\0') != (text[1] == '\0')));
    if (!wide) return text;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const Bytes all(bytes, text.size() / 4 * 4);
    const char* const encoding = encoding_of(all.first(std::min<std::size_t>(all.size(), 64)));
    if (encoding == nullptr || std::string_view(encoding) == "text") return text;
    throw Error(WARPAES_ERROR_KEYSET, std::string(what) + " is " + encoding + "; save it as UTF-8");
}

}  // namespace warpaes
