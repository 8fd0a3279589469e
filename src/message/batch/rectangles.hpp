// Rectangles that overlap, as which messages at one stride are looked at: a row is a stride long.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "message/batch/strip.hpp"

namespace warpaes {

/// Columns [left, right) of rows [low, high).
struct Rectangle {
    std::uint64_t left, right;
    std::uint64_t low, high;
    std::uint32_t owner;
};

/// What `strip`, which is solid or has this stride, covers of rows of `stride` bytes: three rectangles at most.
void cut_into_rows(const Strip& strip, std::uint64_t stride, std::uint32_t owner, std::vector<Rectangle>& rectangles);

/// Calls `clash` for every owner that has a rectangle which overlaps another's, maybe more than once. An owner has six
/// at most. Takes n log n steps for n rectangles, however many overlap.
void find_overlaps(std::vector<Rectangle> rectangles, const std::function<void(std::uint32_t owner)>& clash);

}  // namespace warpaes
