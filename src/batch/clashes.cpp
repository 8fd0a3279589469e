#include "batch/clashes.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace warpaes {

void Clashes::add(std::uint32_t entry, const std::array<Strip, 2>& writes) {
    if (writes[0].empty() && writes[1].empty()) return;
    if (ascending_) {
        std::uintptr_t begin = UINTPTR_MAX, end = 0;
        for (const Strip& strip : writes) {
            if (strip.empty()) continue;
            begin = std::min(begin, strip.begin);
            end = std::max(end, strip.end());
        }
        ascending_ = begin >= last_;
        if (ascending_) {
            if (entries_.empty()) first_ = begin;
            last_ = end;
            entries_.push_back(entry);
            return;
        }
    }
    keep(entry, writes);
}

void Clashes::keep(std::uint32_t entry, const std::array<Strip, 2>& writes) {
    for (const Strip& strip : writes) {
        if (!strip.empty()) writes_.push_back({strip, entry});
    }
}

void Clashes::append(const Clashes& next) {
    if (next.entries_.empty()) return;
    ascending_ = ascending_ && next.ascending_ && next.first_ >= last_;
    if (entries_.empty()) first_ = next.first_;
    last_ = next.last_;
    entries_.insert(entries_.end(), next.entries_.begin(), next.entries_.end());
    writes_.insert(writes_.end(), next.writes_.begin(), next.writes_.end());
}

/// Numbers of writes by where they begin. First into as many drawers as there are writes: what is spread evenly, as
/// messages mostly are, is all but in order then, and sorting all by comparisons took longer than checking the entries.
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

std::vector<std::uint32_t> Clashes::find(const Again& again, const std::function<void(std::uint32_t)>& clash) {
    if (ascending_) return {};
    for (const std::uint32_t entry : entries_) keep(entry, again(entry));
    entries_.clear();
    // Those before the current one that reach beyond its beginning. Many can be only where strips lie between each
    // other; then the oldest are let go.
    constexpr std::size_t most_open = 64;
    std::vector<const Write*> open;
    std::vector<std::uint32_t> entries;
    std::vector<bool> listed;
    for (const std::uint32_t number : by_address()) {
        const Write& write = writes_[number];
        if (write.entry >= listed.size()) listed.resize(std::size_t{2} * write.entry + 1);
        if (!listed[write.entry]) entries.push_back(write.entry);
        listed[write.entry] = true;
        std::erase_if(open, [&](const Write* w) { return w->strip.end() <= write.strip.begin; });
        for (const Write* before : open) {
            if (before->entry == write.entry || meet(before->strip, write.strip) != Meeting::yes) continue;
            clash(before->entry);
            clash(write.entry);
        }
        if (open.size() == most_open) open.erase(open.begin());
        open.push_back(&write);
    }
    return entries;
}

}  // namespace warpaes
