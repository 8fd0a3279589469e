#include "batch/clashes.hpp"

#include <algorithm>

namespace warpaes {

namespace {

struct Write {
    Strip strip;
    std::uint32_t entry;
};

}  // namespace

void Clashes::add(std::uint32_t entry, const std::array<Strip, 2>& writes) {
    if (writes[0].empty() && writes[1].empty()) return;
    entries_.push_back(entry);
    if (!ascending_) return;
    std::uintptr_t begin = UINTPTR_MAX, end = 0;
    for (const Strip& strip : writes) {
        if (strip.empty()) continue;
        begin = std::min(begin, strip.begin);
        end = std::max(end, strip.end());
    }
    ascending_ = begin >= last_;
    if (entries_.size() == 1) first_ = begin;
    last_ = end;
}

void Clashes::append(const Clashes& next) {
    if (next.entries_.empty()) return;
    ascending_ = ascending_ && next.ascending_ && next.first_ >= last_;
    if (entries_.empty()) first_ = next.first_;
    last_ = next.last_;
    entries_.insert(entries_.end(), next.entries_.begin(), next.entries_.end());
}

void Clashes::find(const Again& again, const std::function<void(std::uint32_t)>& clash) {
    if (ascending_) return;
    std::vector<Write> all;
    all.reserve(entries_.size());
    for (const std::uint32_t entry : entries_) {
        for (const Strip& strip : again(entry)) {
            if (!strip.empty()) all.push_back({strip, entry});
        }
    }
    std::sort(all.begin(), all.end(), [](const Write& a, const Write& b) { return a.strip.begin < b.strip.begin; });
    // Those before the current one that reach beyond its beginning. Many can be only where strips lie between each
    // other; then the oldest are let go.
    constexpr std::size_t most_open = 64;
    std::vector<const Write*> open;
    for (const Write& write : all) {
        std::erase_if(open, [&](const Write* w) { return w->strip.end() <= write.strip.begin; });
        for (const Write* before : open) {
            if (before->entry == write.entry || meet(before->strip, write.strip) != Meeting::yes) continue;
            clash(before->entry);
            clash(write.entry);
        }
        if (open.size() == most_open) open.erase(open.begin());
        open.push_back(&write);
    }
}

}  // namespace warpaes
