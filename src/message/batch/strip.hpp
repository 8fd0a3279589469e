// Stretches of memory at equal distances, as the messages of an entry lie, and whether two of them overlap.
#pragma once

#include <cstdint>

namespace warpaes {

/// `count` stretches of `size` bytes, which begin `stride` bytes apart. Not beyond the end of the address space.
struct Strip {
    std::uintptr_t begin = 0;
    std::uint64_t stride = 0;
    std::uint64_t count = 0;
    std::uint64_t size = 0;

    [[nodiscard]] bool empty() const noexcept { return count == 0 || size == 0; }
    [[nodiscard]] std::uintptr_t end() const noexcept { return empty() ? begin : begin + (count - 1) * stride + size; }
    /// Without gaps.
    [[nodiscard]] bool solid() const noexcept { return count == 1 || stride <= size; }
    /// Two of its own stretches overlap.
    [[nodiscard]] bool overlaps_itself() const noexcept { return !empty() && count > 1 && stride < size; }
};

enum class Meeting { no, yes, unknown };

/// `meet` of strips that are not one behind the other.
Meeting meet_among(const Strip& a, const Strip& b) noexcept;

/// Whether two strips have a byte in common; unknown where they lie between each other at different strides.
inline Meeting meet(const Strip& a, const Strip& b) noexcept {
    if (a.empty() || b.empty() || a.end() <= b.begin || b.end() <= a.begin) return Meeting::no;
    return meet_among(a, b);
}

}  // namespace warpaes
