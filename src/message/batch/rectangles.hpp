// Rectangles that overlap, as which messages at one stride are looked at: a row is a stride long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "message/batch/strip.hpp"

namespace warpaes {

/// The greatest of numbers that belong to owners, and the greatest that belongs to any other.
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
    /// Of all that are not `whose`.
    [[nodiscard]] std::uint64_t beside(std::uint32_t whose) const { return whose == owner ? others : number; }
};

/// Columns [left, right) of rows [low, high).
struct Rectangle {
    std::uint64_t left, right;
    std::uint64_t low, high;
    std::uint32_t owner;
};

/// What `strip`, which is solid or has this stride, covers of rows of `stride` bytes: three rectangles at most.
void cut_into_rows(const Strip& strip, std::uint64_t stride, std::uint32_t owner, std::vector<Rectangle>& rectangles);

/// Calls `clash` for every owner that has a rectangle which overlaps another's, maybe more than once. Takes n log n
/// steps for n rectangles, however many overlap.
void find_overlaps(std::vector<Rectangle> rectangles, const std::function<void(std::uint32_t owner)>& clash);

}  // namespace warpaes
