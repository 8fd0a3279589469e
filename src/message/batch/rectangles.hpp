// Finds overlapping rectangles. View memory as rows that are each one stride long: messages with this stride are then
// rectangles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "message/batch/strip.hpp"

namespace warpaes {

/// The greatest number, its owner, and the greatest number of all other owners.
struct Greatest {
    std::uint64_t number = 0, others = 0;
    std::uint32_t owner = 0;

    void add(std::uint64_t its, std::uint32_t whose) {
        if (whose == owner) {
            number = std::max(number, its);
        } else if (its > number) {
            others = std::exchange(number, its);
            owner = whose;
        } else {
            others = std::max(others, its);
        }
    }
    /// Returns the greatest number of all owners other than `whose`.
    [[nodiscard]] std::uint64_t beside(std::uint32_t whose) const { return whose == owner ? others : number; }
};

/// Columns [left, right) of rows [low, high).
struct Rectangle {
    std::uint64_t left, right;
    std::uint64_t low, high;
    std::uint32_t owner;
};

/// Adds the memory that `strip` covers in rows of `stride` bytes, as at most three rectangles. The strip must be solid
/// or have that stride.
void cut_into_rows(const Strip& strip, std::uint64_t stride, std::uint32_t owner, std::vector<Rectangle>& rectangles);

/// Calls `clash` for every owner of a rectangle that overlaps a rectangle of another owner, possibly more than once.
/// Takes n log n steps for n rectangles, regardless of how many overlap.
void find_overlaps(std::vector<Rectangle> rectangles, const std::function<void(std::uint32_t owner)>& clash);

}  // namespace warpaes
