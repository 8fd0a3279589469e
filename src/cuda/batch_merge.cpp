#include "cuda/batch_merge.hpp"

#include "cuda/rows.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes::cuda {

namespace {

bool same_shape(const MessageGroup& a, const MessageGroup& b) {
    return a.length == b.length && a.unused_bits == b.unused_bits && a.mode == b.mode && a.direction == b.direction &&
           a.key == b.key && a.iv_length == b.iv_length && a.aad_length == b.aad_length &&
           a.tag_length == b.tag_length && a.key_bytes == b.key_bytes && a.tweak_key == b.tweak_key &&
           a.data_units == b.data_units && a.device == b.device;
}

std::uint64_t distance(const Elements& a, const Elements& b) {
    return reinterpret_cast<std::uintptr_t>(b.first) - reinterpret_cast<std::uintptr_t>(a.first);
}

}  // namespace

MergedGroups::MergedGroups(std::span<const MessageGroup> groups) : groups_(groups) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].key == nullptr) raw_keys_ += rows_of(groups[i], groups[i].keys);
        if (!runs_.empty() && continues(runs_.back(), groups[i])) {
            ++runs_.back().count;
        } else {
            runs_.push_back({i, 1});
        }
    }
}

MessageGroup MergedGroups::operator[](std::size_t i) const {
    const Run& run = runs_[i];
    MessageGroup g = groups_[run.first];
    if (run.count == 1) return g;
    g.count = run.count;
    for (const auto kind : each_kind)
        (g.*kind).stride = distance(groups_[run.first].*kind, groups_[run.first + 1].*kind);
    return g;
}

bool MergedGroups::continues(const Run& run, const MessageGroup& next) {
    const MessageGroup& first = groups_[run.first];
    if (first.count != 1 || next.count != 1 || !same_shape(first, next)) return false;
    if (first.failed == nullptr ? next.failed != nullptr : next.failed != first.failed + run.count) return false;
    if (first.statuses == nullptr ? next.statuses != nullptr : next.statuses != first.statuses + run.count)
        return false;
    const MessageGroup& second = run.count == 1 ? next : groups_[run.first + 1];
    for (std::size_t i = 0; i < kinds; ++i) {
        const Elements &a = first.*each_kind[i], &b = second.*each_kind[i], &here = next.*each_kind[i];
        const std::uint64_t stride = distance(a, b);
        if (stride > Preparation::most_distance || distance(a, here) != stride * run.count) return false;
        const std::uint64_t least = i == 1 ? first.length : i == 4 ? first.tag_length : 0;
        if (a.first != nullptr && stride < least) return false;
        if (first.device < 0 && a.first != nullptr && !lies_with(i, a.first, here.first)) return false;
    }
    return true;
}

/// Whether both addresses are in the same allocation: a single copy must not extend into another allocation.
bool MergedGroups::lies_with(std::size_t kind, const std::uint8_t* first, const std::uint8_t* next) {
    const MemoryPlace a = before_[kind].of(first), b = places_[kind].of(next);
    return a.kind == b.kind && a.device == b.device &&
           (a.kind == Memory::pageable || before_[kind].first() == places_[kind].first());
}

}  // namespace warpaes::cuda
