#include "message/batch/tasks.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace warpaes {

namespace {

constexpr std::uint64_t pack(Claim c) {
    return std::uint64_t{c.end} << 32 | c.begin;
}
constexpr Claim unpack(std::uint64_t range) {
    return {static_cast<std::uint32_t>(range), static_cast<std::uint32_t>(range >> 32)};
}

/// Limits on the number of tasks of an entry with very many tiny messages: the first for most entries, the second once
/// the list has many tasks.
constexpr unsigned most_tasks_of_an_entry_log2 = 20, most_tasks_of_a_later_log2 = 10;
constexpr std::size_t many_tasks = std::size_t{1} << 22;

}  // namespace

void TaskList::cut(std::uint32_t entry, std::uint64_t count, std::uint64_t bytes, const Limits& limits) {
    const unsigned most_log2 = slices_.size() < many_tasks ? most_tasks_of_an_entry_log2 : most_tasks_of_a_later_log2;
    const std::uint64_t least = (count >> most_log2) + 1;
    const std::uint64_t messages = std::max(limits.messages, least);
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;
    const std::uint64_t each = std::clamp<std::uint64_t>(bytes, 1, least == 1 ? most_bytes : most_bytes / least);
    for (std::uint64_t first = 0; first < count;) {
        if (task_bytes_ >= limits.bytes || task_messages_ >= messages ||
            slices_.size() - task_begin_ >= limits.slices) {
            close();
        }
        const auto fits = [&] {
            const std::uint64_t by_bytes = (limits.bytes - task_bytes_ + each - 1) / each;
            return std::max(std::min(by_bytes, messages - task_messages_), least);
        };
        const std::uint64_t n = count == 1 ? 1 : std::min(fits(), count - first);
        Slice& slice = slices_.emplace_back();
        slice.first = first;
        slice.count = n;
        slice.entry = entry;
        task_bytes_ += n * each;
        task_messages_ += n;
        first += n;
    }
}

void TaskList::close() {
    if (slices_.size() == task_begin_) return;
    if (slices_.size() > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
    ends_.push_back(static_cast<std::uint32_t>(slices_.size()));
    bytes_ += task_bytes_;
    task_begin_ = slices_.size();
    task_bytes_ = task_messages_ = 0;
}

TaskShares::TaskShares(std::uint32_t tasks, unsigned workers, std::span<const unsigned> first)
    : shares_(std::make_unique<Share[]>(workers)), workers_(workers), left_(tasks) {
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto border = [&](std::uint64_t k) { return static_cast<std::uint32_t>(tasks * k / first.size()); };
        shares_[first[i]].range.store(pack({border(i), border(i + 1)}), std::memory_order_relaxed);
    }
}

Claim TaskShares::take_front(Share& share, std::uint32_t most) noexcept {
    std::uint64_t range = share.range.load(std::memory_order_acquire);
    for (;;) {
        const Claim there = unpack(range);
        if (there.empty()) return {};
        const std::uint32_t n = std::min(most, there.size());
        if (share.range.compare_exchange_weak(range, pack({there.begin + n, there.end}), std::memory_order_acq_rel)) {
            return {there.begin, there.begin + n};
        }
    }
}

Claim TaskShares::take_half(Share& share) noexcept {
    std::uint64_t range = share.range.load(std::memory_order_acquire);
    for (;;) {
        const Claim there = unpack(range);
        if (there.empty()) return {};
        const std::uint32_t n = (there.size() + 1) / 2;
        if (share.range.compare_exchange_weak(range, pack({there.begin, there.end - n}), std::memory_order_acq_rel)) {
            return {there.end - n, there.end};
        }
    }
}

Claim TaskShares::take(unsigned worker, std::uint32_t most) noexcept {
    Claim claim;
    // The remaining tasks may be moving from one share to another at this moment.
    while (claim.empty() && left() != 0) {
        claim = take_front(shares_[worker], most);
        for (unsigned k = 1; claim.empty() && k < workers_; ++k) {
            claim = take_half(shares_[(worker + k) % workers_]);
            if (claim.size() <= most) continue;
            // Only the owner adds tasks to a share, and this worker's share is empty.
            shares_[worker].range.store(pack({claim.begin + most, claim.end}), std::memory_order_release);
            claim.end = claim.begin + most;
        }
    }
    if (!claim.empty()) left_.fetch_sub(claim.size(), std::memory_order_relaxed);
    return claim;
}

}  // namespace warpaes
