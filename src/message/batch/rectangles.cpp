#include "message/batch/rectangles.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace warpaes {

namespace {

/// How many numbers there are below others, while they come and go. All of them are known beforehand.
class Counts {
public:
    explicit Counts(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {
        std::sort(numbers_.begin(), numbers_.end());
        numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
        sums_.resize(numbers_.size() + 1);
    }
    void add(std::uint64_t number, std::int64_t times) {
        for (std::size_t i = place(number) + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += times;
    }
    [[nodiscard]] std::int64_t below(std::uint64_t number) const {
        std::int64_t sum = 0;
        for (std::size_t i = place(number); i != 0; i -= i & (~i + 1)) sum += sums_[i];
        return sum;
    }

private:
    [[nodiscard]] std::size_t place(std::uint64_t number) const {
        return static_cast<std::size_t>(std::lower_bound(numbers_.begin(), numbers_.end(), number) - numbers_.begin());
    }
    std::vector<std::uint64_t> numbers_;
    std::vector<std::int64_t> sums_;  ///< a Fenwick tree
};

/// A line that moves over the columns and knows which rectangles it crosses.
class Sweep {
public:
    Sweep(const std::vector<Rectangle>& rectangles, const std::function<void(std::uint32_t)>& clash)
        : all_(rectangles),
          clash_(clash),
          crossed_(all_.size()),
          lows_(numbers(&Rectangle::low)),
          highs_(numbers(&Rectangle::high)) {}

    void enter(std::uint32_t number) {
        if (others(number) == 0) {
            clean_.emplace(all_[number].low, number);
        } else {
            clash_(all_[number].owner);
            spoil_clean(number);  // each at most once: the rest are known to overlap, and only count
        }
        crossed_[number] = true;
        count(number, 1);
    }
    void leave(std::uint32_t number) {
        crossed_[number] = false;
        count(number, -1);
        clean_.erase({all_[number].low, number});
    }

private:
    [[nodiscard]] std::vector<std::uint64_t> numbers(std::uint64_t Rectangle::*member) const {
        std::vector<std::uint64_t> numbers;
        for (const Rectangle& r : all_) numbers.push_back(r.*member);
        return numbers;
    }
    [[nodiscard]] bool share_rows(const Rectangle& a, const Rectangle& b) const {
        return a.low < b.high && b.low < a.high;
    }
    void count(std::uint32_t number, std::int64_t times) {
        lows_.add(all_[number].low, times);
        highs_.add(all_[number].high, times);
    }
    /// Crossed ones of others that share a row with it. Rectangles are in the order of their owners.
    [[nodiscard]] std::int64_t others(std::uint32_t number) const {
        const Rectangle& r = all_[number];
        std::int64_t found = lows_.below(r.high) - highs_.below(r.low + 1);
        const auto take_off = [&](std::uint32_t own) {
            if (crossed_[own] && share_rows(all_[own], r)) --found;
        };
        for (std::uint32_t i = number; i-- > 0 && all_[i].owner == r.owner;) take_off(i);
        for (std::uint32_t i = number + 1; i < all_.size() && all_[i].owner == r.owner; ++i) take_off(i);
        return found;
    }
    /// Clean ones of different owners share no row: those that begin before it and reach as far are one owner's.
    void spoil_clean(std::uint32_t number) {
        const Rectangle& r = all_[number];
        auto at = clean_.lower_bound({r.low, 0});
        for (unsigned i = 0; i < most_of_an_owner && at != clean_.begin(); ++i) --at;
        while (at != clean_.end() && at->first < r.high) {
            const Rectangle& other = all_[at->second];
            if (other.owner == r.owner || !share_rows(other, r)) {
                ++at;
                continue;
            }
            clash_(other.owner);
            at = clean_.erase(at);
        }
    }

    static constexpr unsigned most_of_an_owner = 6;
    const std::vector<Rectangle>& all_;
    const std::function<void(std::uint32_t)>& clash_;
    std::vector<bool> crossed_;
    Counts lows_, highs_;
    std::set<std::pair<std::uint64_t, std::uint32_t>> clean_;  ///< by their first row: those that overlap no other's
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
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.owner < b.owner; });
    std::vector<std::uint32_t> entering(all.size());
    std::iota(entering.begin(), entering.end(), 0U);
    std::vector<std::uint32_t> leaving = entering;
    std::sort(entering.begin(), entering.end(), [&](auto a, auto b) { return all[a].left < all[b].left; });
    std::sort(leaving.begin(), leaving.end(), [&](auto a, auto b) { return all[a].right < all[b].right; });
    Sweep sweep(all, clash);
    auto next = leaving.begin();
    for (const std::uint32_t number : entering) {
        for (; all[*next].right <= all[number].left; ++next) sweep.leave(*next);
        sweep.enter(number);
    }
}

}  // namespace warpaes
