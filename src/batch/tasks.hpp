// The work of a batch, cut into tasks, and who takes which.
#pragma once

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

/// Slices in the order in which they are worked on, and where a task ends and the next begins.
class TaskList {
public:
    /// A task is full when it has so much of either.
    struct Limits {
        std::uint64_t bytes = 0;
        std::uint64_t messages = 0;
        std::uint64_t slices = 1024;
    };
    /// `count` messages of an entry, `bytes` each.
    void add(std::uint32_t entry, std::uint64_t count, std::uint64_t bytes, const Limits& limits);
    /// Ends the last task.
    void close();

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const Slice* begin_of(std::uint32_t task) const noexcept {
        return slices_.data() + (task == 0 ? 0 : ends_[task - 1]);
    }
    [[nodiscard]] const Slice* end_of(std::uint32_t task) const noexcept { return slices_.data() + ends_[task]; }

private:
    std::vector<Slice> slices_;
    std::vector<std::uint32_t> ends_;
    std::uint64_t bytes_ = 0;
    std::uint64_t task_bytes_ = 0;
    std::uint64_t task_messages_ = 0;
    std::size_t task_begin_ = 0;
};

/// Every worker begins with a share of the tasks; one that has no more takes half of what another has left. Lock-free.
class TaskShares {
public:
    TaskShares() = default;
    /// Workers 0 … workers - 1, of which `first` begin with shares.
    TaskShares(std::uint32_t tasks, unsigned workers, std::span<const unsigned> first);

    /// Up to `most` consecutive tasks; empty if there are none left.
    Claim take(unsigned worker, std::uint32_t most) noexcept;
    /// Tasks that nobody has taken; others may take them meanwhile.
    [[nodiscard]] std::uint32_t left() const noexcept { return left_.load(std::memory_order_relaxed); }

private:
    struct alignas(64) Share {
        std::atomic<std::uint64_t> range{0};  ///< begin, and end in the upper half
    };
    Claim take_front(Share& share, std::uint32_t most) noexcept;
    Claim take_half(Share& share) noexcept;

    std::unique_ptr<Share[]> shares_;
    unsigned workers_ = 0;
    std::atomic<std::uint32_t> left_{0};
};

}  // namespace warpaes
