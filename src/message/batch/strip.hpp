// Ranges of memory at equal distances, like the messages of an entry, and whether two of them overlap.
#pragma once

#include <cstdint>

namespace warpaes {

/// `count` ranges of `size` bytes that begin `stride` bytes apart. Must not reach beyond the end of the address space.
struct Strip {
    std::uintptr_t begin = 0;
    std::uint64_t stride = 0;
    std::uint64_t count = 0;
    std::uint64_t size = 0;

    [[nodiscard]] bool empty() const noexcept { return count == 0 || size == 0; }
    [[nodiscard]] std::uintptr_t end() const noexcept { return empty() ? begin : begin + (count - 1) * stride + size; }
    /// True if there are no gaps between the ranges.
    [[nodiscard]] bool solid() const noexcept { return count == 1 || stride <= size; }
    /// True if neighbouring ranges of the strip overlap.
    [[nodiscard]] bool overlaps_itself() const noexcept { return !empty() && count > 1 && stride < size; }
};

enum class Meeting { no, yes, unknown };

/// The second part of `meet`, for strips whose extents overlap.
Meeting meet_among(const Strip& a, const Strip& b) noexcept;

/// Whether two strips share a byte; unknown if they interleave at different strides.
inline Meeting meet(const Strip& a, const Strip& b) noexcept {
    if (a.empty() || b.empty() || a.end() <= b.begin || b.end() <= a.begin) return Meeting::no;
    return meet_among(a, b);
}

}  // namespace warpaes
