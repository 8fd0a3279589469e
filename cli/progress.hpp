// The progress of a job on standard error: on a terminal a line that is redrawn, elsewhere a new line each second.
#pragma once

#include <unistd.h>

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
    bool terminal_ = ::isatty(STDERR_FILENO) != 0;
    bool visible_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_{};
};

/// 1536 as "1.50 KiB".
std::string human_bytes(double bytes);

}  // namespace cli
