#include "places/key_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.hpp"

namespace warpaes::places {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string_view trimmed(std::string_view text) {
    constexpr const char* space = " \t\r\n";
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

bool is_hex(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; });
}

bool looks_like_key(std::string_view text) {
    if (text.find('{') != std::string_view::npos) return true;
    if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") text.remove_prefix(2);
    std::size_t size = 0, digits = 0;
    bool hex = true, upper = false, lower = false, padding = false;
    for (const char c : text) {
        if (std::strchr(" \t\r\n:,'\"", c) != nullptr)
            continue;  // separators between hexadecimal digits, or quotes around them
        const bool digit = c >= '0' && c <= '9', capital = c >= 'A' && c <= 'Z', small = c >= 'a' && c <= 'z';
        if (!digit && !capital && !small && std::strchr("+/-_=", c) == nullptr) return false;
        ++size;
        digits += digit ? 1 : 0;
        upper |= capital;
        lower |= small;
        padding = c == '=';
        hex &= hex_digit(c) >= 0;
    }
    if (hex) return size >= 16 && (digits < size || size >= 24);  // 16 digits may be a number
    // In base64, 16 bytes take 22 characters. A key is unlikely to lack capitals, small letters or digits, and a word
    // is unlikely to contain all three.
    return size >= 16 && (padding || (size >= 22 && upper && lower && digits != 0));
}

void decode_hex(std::string_view digits, unsigned char* bytes) {
    for (std::size_t i = 0; i < digits.size() / 2; ++i) {
        bytes[i] = static_cast<unsigned char>(hex_digit(digits[2 * i]) * 16 + hex_digit(digits[2 * i + 1]));
    }
}

int parse_fd(const std::string& what, const std::string& number) {
    int fd = -1;
    const char* end = number.data() + number.size();
    const auto [at, error] = std::from_chars(number.data(), end, fd);
    if (error != std::errc() || at != end || fd < 0) {
        const bool is_shown = number.find_first_not_of("-0123456789") == std::string::npos;
        throw Error(WARPAES_ERROR_ARGUMENT,
                    what + ": " + (is_shown ? "'" + number + "'" : "fd:") + " is not the number of a descriptor");
    }
    return fd;
}

const char* after(const char* text, const char* prefix) {
    const std::size_t n = std::strlen(prefix);
    return std::strncmp(text, prefix, n) == 0 ? text + n : nullptr;
}

}  // namespace warpaes::places
