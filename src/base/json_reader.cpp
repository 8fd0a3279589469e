#include "base/json_reader.hpp"

#include <charconv>
#include <limits>

namespace warpaes {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

void JsonReader::refuse(const std::string& expected) const {
    throw Error(status_, std::string(subject_) + ": byte " + std::to_string(at_) + ": expected " + expected);
}

/// Returns the next character that is not white space, or NUL at the end of the text; no value starts with NUL.
char JsonReader::peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char c) {
    if (peek() != c) refuse(std::string("'") + c + "'");
    ++at_;
}

/// Reads a comma or the closing bracket, and returns whether another member or element follows.
bool JsonReader::next(char close, bool first) {
    if (peek() == close) {
        ++at_;
        return false;
    }
    if (first) return true;
    expect(',');
    if (peek() == close) refuse("another value after ','");
    return true;
}

void JsonReader::end() {
    peek();
    if (at_ != text_.size()) refuse("the end");
}

/// Returns the character that the rest of an escape sequence represents.
std::uint8_t JsonReader::escaped() {
    static constexpr std::string_view names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (const std::size_t i = names.find(c); i != std::string_view::npos && c != '\0') {
        ++at_;
        return static_cast<std::uint8_t>(values[i]);
    }
    if (c != 'u') refuse("an escape sequence");
    const std::string_view digits = text_.substr(at_ + 1, 4);
    unsigned value = 0;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 4 || error != std::errc() || last != digits.data() + 4) refuse("four hexadecimal digits");
    if (value >= 0x80) refuse("ASCII");
    at_ += 5;
    return static_cast<std::uint8_t>(value);
}

SecretVector JsonReader::string() {
    expect('"');
    // Reserves the complete length first, because growing would leave unwiped copies.
    std::size_t most = 0;
    while (at_ + most < text_.size() && text_[at_ + most] != '"') most += text_[at_ + most] == '\\' ? 2 : 1;
    SecretVector bytes;
    bytes.reserve(most);
    for (;;) {
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
            refuse("a string's next character, or its '\"'");
        }
        ++at_;
        if (c == '"') break;
        bytes.push_back(c == '\\' ? escaped() : static_cast<std::uint8_t>(c));
    }
    return bytes;
}

std::uint32_t JsonReader::number() {
    SecretVector quoted;
    std::string_view digits;
    if (peek() == '"') {
        quoted = string();
        digits = as_text(quoted);
    } else {
        std::size_t n = 0;
        while (at_ + n < text_.size() && is_digit(text_[at_ + n])) ++n;
        digits = text_.substr(at_, n);
        at_ += n;
        if (at_ < text_.size() && std::string_view(".eE").find(text_[at_]) != std::string_view::npos) digits = {};
    }
    std::uint32_t value = 0;
    const char* end = digits.data() + digits.size();
    const bool whole = !digits.empty() && (digits == "0" || digits.front() != '0') && is_digit(digits.front());
    const auto [last, error] = whole ? std::from_chars(digits.data(), end, value)
                                     : std::from_chars_result{digits.data(), std::errc::invalid_argument};
    if (error != std::errc() || last != end) refuse("a whole number below 2^32");
    return value;
}

double JsonReader::real() {
    peek();
    double value = 0;
    const auto [last, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("a number");
    at_ = static_cast<std::size_t>(last - text_.data());
    return value;
}

}  // namespace warpaes
