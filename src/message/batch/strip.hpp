// Ranges of memory at equal distances, such as the messages of an entry, and checks for overlaps between them.
#pragma once

#include <cstdint>

namespace warpaes {

/// `count` ranges of `size` bytes that begin `stride` bytes apart. They must not extend beyond the end of the address
/// space.
struct Strip {
    std::uintptr_t begin = 0;
    std::uint64_t stride = 0;
    std::uint64_t count = 0;
    std::uint64_t size = 0;

    [[nodiscard]] bool empty() const noexcept { return count == 0 || size == 0; }
    [[nodiscard]] std::uintptr_t end() const noexcept { return empty() ? begin : begin + (count - 1) * stride + size; }
    /// Whether there are no gaps between the ranges.
    [[nodiscard]] bool solid() const noexcept { return count == 1 || stride <= size; }
    /// Whether adjacent ranges of the strip overlap.
    [[nodiscard]] bool overlaps_itself() const noexcept { return !empty() && count > 1 && stride < size; }
};

enum class Meeting { no, yes, unknown };

/// The part of meet() for strips whose extents overlap.
Meeting meet_among(const Strip& a, const Strip& b) noexcept;

/// Whether two strips have a byte in common; unknown if they interleave at different strides.
inline Meeting meet(const Strip& a, const Strip& b) noexcept {
    if (a.empty() || b.empty() || a.end() <= b.begin || b.end() <= a.begin) return Meeting::no;
    return meet_among(a, b);
}

}  // namespace warpaes
