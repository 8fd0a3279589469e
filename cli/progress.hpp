// A line on standard error that shows the progress of a job.
#pragma once

#include <chrono>
#include <cstdint>
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
    bool visible_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_ = start_;
};

/// 1536 as "1.50 KiB".
std::string human_bytes(double bytes);

}  // namespace cli
