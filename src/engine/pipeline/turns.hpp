// Numbered turns: run a step in chunk order although different workers process the chunks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpaes {

class Turns {
public:
    /// Waits for the turn of `number`; returns false if stop() has been called.
    [[nodiscard]] bool wait(std::uint64_t number) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || next_ == number; });
        return !stopped_;
    }
    /// Ends the current turn.
    void pass() {
        {
            const std::lock_guard lock(mutex_);
            ++next_;
        }
        changed_.notify_all();
    }
    /// Ends all waits, which then return false.
    void stop() noexcept {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0;
    bool stopped_ = false;
};

}  // namespace warpaes
