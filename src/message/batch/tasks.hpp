// Cuts the work of a batch into tasks and distributes them to the workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace warpaes {

/// Messages [first, first + count) of an entry.
struct Slice {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint32_t entry = 0;
};

/// Consecutive tasks of a list: [begin, end).
struct Claim {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] bool empty() const noexcept { return begin == end; }
    [[nodiscard]] std::uint32_t size() const noexcept { return end - begin; }
};

/// Slices in processing order, and the boundaries between tasks.
class TaskList {
public:
    /// A task is full once it reaches one of these limits.
    struct Limits {
        std::uint64_t bytes = 0;
        std::uint64_t messages = 0;
        std::uint64_t slices = 1024;
    };
    /// Adds `count` messages of an entry, each of `bytes` bytes.
    void add(std::uint32_t entry, std::uint64_t count, std::uint64_t bytes, const Limits& limits) {
        if (!fits(count, bytes, limits)) return cut(entry, count, bytes, limits);
        slices_.push_back({.first = 0, .count = count, .entry = entry});
        task_bytes_ += count * std::max<std::uint64_t>(bytes, 1);
        task_messages_ += count;
    }
    /// Prepares for `entries` calls of add(), most of which add one slice.
    void reserve(std::size_t entries) { slices_.reserve(slices_.size() + entries); }
    /// Finishes the last task.
    void close();

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Returns the slices of a claim that is not empty.
    [[nodiscard]] std::span<const Slice> slices(Claim claim) const noexcept {
        return {slices_.data() + (claim.begin == 0 ? 0 : ends_[claim.begin - 1]),
                slices_.data() + ends_[claim.end - 1]};
    }

private:
    /// Whether all messages fit in the last task, which has begun.
    [[nodiscard]] bool fits(std::uint64_t count, std::uint64_t bytes, const Limits& limits) const noexcept {
        constexpr std::uint64_t few = 64, most = std::uint64_t{1} << 32;  // the product below does not overflow
        return count - 1 < few && bytes < most && slices_.size() - task_begin_ - 1 < limits.slices - 1 &&
               task_bytes_ + (count - 1) * std::max<std::uint64_t>(bytes, 1) < limits.bytes &&
               task_messages_ + count <= limits.messages;
    }
    /// Adds messages to one or more tasks.
    void cut(std::uint32_t entry, std::uint64_t count, std::uint64_t bytes, const Limits& limits);

    std::vector<Slice> slices_;
    std::vector<std::uint32_t> ends_;
    std::uint64_t bytes_ = 0;
    std::uint64_t task_bytes_ = 0;
    std::uint64_t task_messages_ = 0;
    std::size_t task_begin_ = 0;
};

/// Divides slices into portions: consecutive small slices are combined, and a slice with more messages than a worker
/// should process at once is cut into pieces. An entry may have more messages than there can be tasks.
class Pieces {
public:
    explicit Pieces(std::span<const Slice> slices) : left_(slices) {}

    /// Returns the next portion, valid until the next call; empty at the end. `most(slice)` is the maximum number of
    /// messages of that slice per portion, at least 1.
    template <typename Most>
    std::span<const Slice> next(const Most& most) {
        const auto is_large = [&](const Slice& s) { return s.count > 1 && s.count > most(s); };
        if (left_.empty()) return {};
        if (done_ == 0 && !is_large(left_.front())) {
            const auto whole = left_.first(
                static_cast<std::size_t>(std::find_if(left_.begin(), left_.end(), is_large) - left_.begin()));
            left_ = left_.subspan(whole.size());
            return whole;
        }
        const Slice& large = left_.front();
        piece_ = {large.first + done_, std::min<std::uint64_t>(most(large), large.count - done_), large.entry};
        done_ += piece_.count;
        if (done_ == large.count) {
            left_ = left_.subspan(1);
            done_ = 0;
        }
        return {&piece_, 1};
    }

    /// Returns all slices that are not finished; a part of the first slice may already have been returned.
    [[nodiscard]] std::span<const Slice> rest() const noexcept { return left_; }

private:
    std::span<const Slice> left_;
    Slice piece_;
    std::uint64_t done_ = 0;  ///< number of messages of the first slice that were returned
};

/// Each worker begins with a share of the tasks. A worker without tasks claims half of another worker's remaining
/// tasks. Lock-free.
class TaskShares {
public:
    TaskShares() = default;
    /// For workers 0 … workers - 1; the workers in `first` begin with shares.
    TaskShares(std::uint32_t tasks, unsigned workers, std::span<const unsigned> first);

    /// Claims up to `most` consecutive tasks; the result is empty if no tasks are left.
    Claim take(unsigned worker, std::uint32_t most) noexcept;
    /// Returns the number of tasks that no worker has claimed; other threads may claim them at any time.
    [[nodiscard]] std::uint32_t left() const noexcept { return left_.load(std::memory_order_relaxed); }

private:
    /// The padding keeps the ranges of two workers in different cache lines.
    struct Share {
        std::atomic<std::uint64_t> range{0};  ///< begin in the lower half, end in the upper half
        std::byte padding[56];
    };
    /// Claims up to `most` tasks from the beginning of a share.
    Claim take_front(Share& share, std::uint32_t most) noexcept;
    /// Claims half of a share's tasks, from its end.
    Claim take_half(Share& share) noexcept;

    std::unique_ptr<Share[]> shares_;
    unsigned workers_ = 0;
    std::atomic<std::uint32_t> left_{0};
};

}  // namespace warpaes
