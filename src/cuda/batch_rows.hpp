// The elements that a group's messages have at equal distances, as rows of a buffer.
#pragma once

#include <cstdint>

#include "backend/group.hpp"

namespace warpaes::cuda {

/// Rounds up to a multiple of 16, the alignment of everything in a buffer.
constexpr std::uint64_t aligned(std::uint64_t n) {
    return (n + 15) / 16 * 16;
}

/// Number of distinct elements of a group.
inline std::uint64_t rows_of(const MessageGroup& g, const Elements& e) {
    return e.stride == 0 ? 1 : g.count;
}

}  // namespace warpaes::cuda
