// Numbered turns: what must happen in the order of the chunks although each chunk is in another worker's hands.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpaes {

class Turns {
public:
    /// Waits until it is `number`'s turn; false if stop() was called meanwhile or before.
    [[nodiscard]] bool wait(std::uint64_t number) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || next_ == number; });
        return !stopped_;
    }
    /// Whoever has the turn is done.
    void pass() {
        {
            const std::lock_guard lock(mutex_);
            ++next_;
        }
        changed_.notify_all();
    }
    /// Nobody gets a turn any more.
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
