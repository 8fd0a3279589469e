// Parses numbers on the command line.
#pragma once

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <string>

#include "command.hpp"

namespace cli {

template <typename Number>
Number parse_number(const std::string& what, const std::string& text, Number largest) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > largest) {
        throw UsageError(fmt::format("{}: '{}' is not a number from 0 to {}", what, text, largest));
    }
    return number;
}

/// Parses a size such as 4096, 64k, 1M or 1MiB.
inline std::uint64_t parse_bytes(const std::string& what, std::string text) {
    unsigned shift = 0;
    if (text.size() > 3 && text.compare(text.size() - 2, 2, "iB") == 0) text.resize(text.size() - 2);
    if (!text.empty()) {
        const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
        shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
        if (shift != 0) text.pop_back();
    }
    return parse_number<std::uint64_t>(what, text, std::uint64_t{1} << 30) << shift;
}

}  // namespace cli
