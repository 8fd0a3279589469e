// Shows a job's progress on standard error: as a redrawn line on a terminal, and otherwise as a new line every second.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace cli {

class ProgressLine {
public:
    explicit ProgressLine(bool shown) : shown_(shown) {}
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// `total` may be WARPAES_UNKNOWN.
    void update(std::uint64_t done, std::uint64_t total);
    void clear();
    [[nodiscard]] double seconds() const;

private:
    using Clock = std::chrono::steady_clock;
    bool shown_;
    bool terminal_ = ::isatty(STDERR_FILENO) != 0;
    bool visible_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_{};
};

/// One progress line for all files. Thread-safe.
class SharedProgress {
public:
    /// `bytes` is the total for all files; update() gets each file's size.
    SharedProgress(bool shown, std::size_t files, std::uint64_t bytes)
        : line_(shown), single_(files == 1), total_(bytes) {}
    /// Reports that `done` of the `total` bytes of one file have been processed. `before` must be 0 in the first call
    /// for a file, and each call sets it to `done`.
    void update(std::uint64_t& before, std::uint64_t done, std::uint64_t total) {
        const std::lock_guard lock(mutex_);
        done_ += done - before;
        before = done;
        line_.update(done_, single_ ? total : total_);
    }
    double finish() {
        const double seconds = line_.seconds();
        line_.clear();
        return seconds;
    }

private:
    std::mutex mutex_;
    ProgressLine line_;
    bool single_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
};

/// Formats 1536 as "1.50 KiB".
std::string human_bytes(double bytes);

}  // namespace cli
