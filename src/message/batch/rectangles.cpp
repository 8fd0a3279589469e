#include "message/batch/rectangles.hpp"

#include <algorithm>

namespace warpaes {

namespace {

/// Stores numbers for ranges of rows: a segment tree over the rows in which rectangles begin or end. In a node, `all`
/// contains the numbers that apply to all of its rows, and `some` the numbers that apply to at least one of its rows.
class Rows {
public:
    explicit Rows(const std::vector<Rectangle>& rectangles) {
        for (const Rectangle& r : rectangles) borders_.insert(borders_.end(), {r.low, r.high});
        std::sort(borders_.begin(), borders_.end());
        borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
        nodes_.resize(2 * borders_.size());
    }
    void add(const Rectangle& r, std::uint64_t number) {
        walk(
            r,
            [&](Node& node) {
                node.all.add(number, r.owner);
                node.some.add(number, r.owner);
            },
            [&](Node& above) { above.some.add(number, r.owner); });
    }
    /// Returns the greatest number of another owner in any of the rectangle's rows.
    [[nodiscard]] std::uint64_t beside(const Rectangle& r) {
        std::uint64_t most = 0;
        walk(
            r, [&](Node& node) { most = std::max(most, node.some.beside(r.owner)); },
            [&](Node& above) { most = std::max(most, above.all.beside(r.owner)); });
        return most;
    }

private:
    struct Node {
        Greatest all, some;
    };
    /// Calls `within` for the nodes that cover the rectangle's rows, and `above` for the ancestors of these nodes.
    template <typename Within, typename Above>
    void walk(const Rectangle& r, const Within& within, const Above& above) {
        const auto place = [&](std::uint64_t row) {
            return nodes_.size() / 2 +
                   static_cast<std::size_t>(std::ranges::lower_bound(borders_, row) - borders_.begin());
        };
        const std::size_t first = place(r.low), end = place(r.high);
        for (std::size_t l = first, e = end; l < e; l /= 2, e /= 2) {
            if (l % 2 != 0) within(nodes_[l++]);
            if (e % 2 != 0) within(nodes_[--e]);
        }
        for (const std::size_t leaf : {first, end - 1}) {
            for (std::size_t node = leaf / 2; node != 0; node /= 2) above(nodes_[node]);
        }
    }

    std::vector<std::uint64_t> borders_;
    std::vector<Node> nodes_;
};

}  // namespace

void cut_into_rows(const Strip& s, std::uint64_t stride, std::uint32_t owner, std::vector<Rectangle>& rectangles) {
    const auto add = [&](std::uint64_t left, std::uint64_t right, std::uint64_t low, std::uint64_t high) {
        if (left < right && low < high) rectangles.push_back({left, right, low, high, owner});
    };
    const std::uint64_t row = s.begin / stride, column = s.begin % stride;
    if (s.solid()) {
        const std::uint64_t last = s.end() / stride, end = s.end() % stride;
        if (row == last) return add(column, end, row, row + 1);
        add(column, stride, row, row + 1);
        add(0, stride, row + 1, last);
        add(0, end, last, last + 1);
        return;
    }
    const bool wraps = s.size > stride - column;
    add(column, wraps ? stride : column + s.size, row, row + s.count);
    if (wraps) add(0, s.size - (stride - column), row + 1, row + 1 + s.count);
}

void find_overlaps(std::vector<Rectangle> all, const std::function<void(std::uint32_t owner)>& clash) {
    std::ranges::sort(all, {}, &Rectangle::left);
    // From left to right: checks whether any rectangle that begins earlier ends after the beginning of this rectangle.
    Rows rights(all);
    for (const Rectangle& r : all) {
        if (rights.beside(r) > r.left) clash(r.owner);
        rights.add(r, r.right);
    }
    // From right to left: checks whether any rectangle that begins later begins before the end of this rectangle.
    // Complements turn the minimum into a maximum.
    Rows lefts(all);
    std::for_each(all.rbegin(), all.rend(), [&](const Rectangle& r) {
        if (lefts.beside(r) > ~r.right) clash(r.owner);
        lefts.add(r, ~r.left);
    });
}

}  // namespace warpaes
