// Byte patterns for texts, associated data and keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Returns a pattern whose adjacent bytes and blocks differ. Different seeds produce different patterns.
inline std::vector<std::uint8_t> pattern(std::size_t size, std::uint8_t seed = 0) {
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(seed + i * 7 + i / 251);
    return bytes;
}
