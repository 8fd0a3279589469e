// What the messages of a group have at equal distances, as rows, and how rows are packed into a buffer.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/group.hpp"

namespace warpaes::cuda {

/// Everything in a buffer begins at a multiple of 16 bytes.
constexpr std::uint64_t aligned(std::uint64_t n) {
    return (n + 15) / 16 * 16;
}

/// Distinct pieces of a group.
inline std::uint64_t rows_of(const MessageGroup& g, const Elements& e) {
    return e.stride == 0 ? 1 : g.count;
}

inline void copy_rows(std::uint8_t* to, std::uint64_t to_stride, const std::uint8_t* from, std::uint64_t from_stride,
                      std::uint64_t bytes, std::uint64_t rows) {
    if (rows == 1 || (to_stride == bytes && from_stride == bytes)) {
        std::memcpy(to, from, rows * bytes);
        return;
    }
    for (std::uint64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

}  // namespace warpaes::cuda
