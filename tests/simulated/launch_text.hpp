// Text for single launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpaes {

/// Returns text whose adjacent bytes, blocks and stretches differ.
inline std::vector<std::uint8_t> text_of(std::size_t bytes) {
    std::vector<std::uint8_t> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8) + (i >> 17));
    return text;
}

}  // namespace warpaes
