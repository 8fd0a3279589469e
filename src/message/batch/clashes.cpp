#include "message/batch/clashes.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "message/batch/rectangles.hpp"

namespace warpaes {

void Clashes::Ascent::append(const Ascent& next) noexcept {
    if (next.first == UINTPTR_MAX) return;
    holds = holds && next.holds && next.first >= last;
    first = std::min(first, next.first);
    last = next.last;
}

bool Clashes::ascend() const noexcept {
    const bool apart = outputs_.last <= tags_.first || tags_.last <= outputs_.first;
    return all_.holds || (outputs_.holds && tags_.holds && apart);
}

void Clashes::keep(std::uint32_t entry, const std::array<Strip, 2>& writes) {
    for (const Strip& strip : writes) {
        if (!strip.empty()) writes_.push_back({strip, entry});
    }
}

void Clashes::append(const Clashes& next) {
    all_.append(next.all_);
    outputs_.append(next.outputs_);
    tags_.append(next.tags_);
    entries_.insert(entries_.end(), next.entries_.begin(), next.entries_.end());
    writes_.insert(writes_.end(), next.writes_.begin(), next.writes_.end());
}

/// Returns the indices of the writes, sorted by address. The function first distributes the writes into as many buckets
/// as there are writes, which nearly sorts them because writes are usually spread evenly. Sorting only by comparisons
/// took longer than checking the entries.
std::vector<std::uint32_t> Clashes::by_address() const {
    std::uintptr_t least = UINTPTR_MAX, most = 0;
    for (const Write& write : writes_) {
        least = std::min(least, write.strip.begin);
        most = std::max(most, write.strip.begin);
    }
    const auto width = std::bit_width(most - least), enough = std::bit_width(std::uintptr_t{writes_.size()});
    const auto shift = width > enough ? width - enough : 0;
    const auto drawer = [&](const Write& write) { return (write.strip.begin - least) >> shift; };
    std::vector<std::uint32_t> ends(drawer({{most, 0, 0, 0}, 0}) + 2), order(writes_.size());
    for (const Write& write : writes_) ++ends[drawer(write) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[ends[drawer(writes_[i])]++] = i;
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return writes_[a].strip.begin < writes_[b].strip.begin;
    };
    for (std::size_t first = 0, d = 0; first < order.size(); first = ends[d++]) {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(ends[d]);
        if (end - begin > 1) std::sort(begin, end, before);
    }
    return order;
}

/// Compares writes without gaps with each other.
void Clashes::compare_solids(std::span<const Write* const> writes, const Clash& clash) {
    // From left to right: checks whether any write that begins earlier ends after the beginning of this write.
    Greatest ends;
    for (const Write* write : writes) {
        if (ends.beside(write->entry) > write->strip.begin) clash(write->entry);
        ends.add(write->strip.end(), write->entry);
    }
    // From right to left: checks whether any write that begins later begins before the end of this write. Complements
    // turn the minimum into a maximum.
    Greatest begins;
    std::for_each(writes.rbegin(), writes.rend(), [&](const Write* write) {
        if (begins.beside(write->entry) > ~write->strip.end()) clash(write->entry);
        begins.add(~write->strip.begin, write->entry);
    });
}

/// Compares writes that have the same stride with each other and with `solids`, which have no gaps.
void Clashes::compare_at_stride(std::span<const Write* const> writes, std::span<const Write* const> solids,
                                const Clash& clash) {
    const std::uint64_t stride = writes.front()->strip.stride;
    std::vector<Rectangle> rectangles;
    std::uintptr_t begin = UINTPTR_MAX, end = 0;
    for (const Write* write : writes) {
        cut_into_rows(write->strip, stride, write->entry, rectangles);
        begin = std::min(begin, write->strip.begin);
        end = std::max(end, write->strip.end());
    }
    for (const Write* solid : solids) {
        if (solid->strip.begin >= end || solid->strip.end() <= begin) continue;
        cut_into_rows(solid->strip, stride, solid->entry, rectangles);
    }
    find_overlaps(std::move(rectangles), clash);
}

/// Compares writes with overlapping extents, sorted by their beginning.
void Clashes::compare(std::span<const Write* const> writes, const Clash& clash, const std::function<bool()>& stop) {
    if (stop()) return;
    const auto is_first = [&](const Write* write) { return write->entry == writes.front()->entry; };
    if (std::all_of(writes.begin(), writes.end(), is_first)) return;
    std::vector<const Write*> sorted(writes.begin(), writes.end());
    const auto gaps =
        std::stable_partition(sorted.begin(), sorted.end(), [](const Write* w) { return w->strip.solid(); });
    const auto stride = [](const Write* w) { return w->strip.stride; };
    std::ranges::sort(gaps, sorted.end(), {}, stride);
    const std::span<const Write* const> solids(sorted.begin(), gaps);
    compare_solids(solids, clash);
    std::size_t strides = 0;
    for (auto first = gaps; first != sorted.end() && !stop();) {
        const auto last = std::ranges::upper_bound(first, sorted.end(), stride(*first), {}, stride);
        compare_at_stride({first, last}, strides++ < most_strides ? solids : solids.first(0), clash);
        first = last;
    }
}

std::vector<std::uint32_t> Clashes::find(const Again& again, const Clash& clash, const std::function<bool()>& stop) {
    if (ascend()) return {};
    for (const std::uint32_t entry : entries_) keep(entry, again(entry));
    entries_.clear();
    std::vector<std::uint32_t> entries;
    std::vector<bool> listed;
    std::vector<const Write*> together;  // each write begins before the end of an earlier write
    std::uintptr_t end = 0;
    for (const std::uint32_t number : by_address()) {
        const Write& write = writes_[number];
        if (write.entry >= listed.size()) listed.resize(std::size_t{2} * write.entry + 1);
        if (!listed[write.entry]) entries.push_back(write.entry);
        listed[write.entry] = true;
        if (write.strip.begin >= end) {
            if (together.size() > 1) compare(together, clash, stop);
            together.clear();
        }
        together.push_back(&write);
        end = std::max(end, write.strip.end());
    }
    if (together.size() > 1) compare(together, clash, stop);
    return entries;
}

}  // namespace warpaes
