// What the messages of a group have at equal distances, as rows of a buffer.
#pragma once

#include <cstdint>

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

}  // namespace warpaes::cuda
