// The file that processes count in together. Nobody maps it: whoever may write it may also cut it short, and a process
// that has such a page mapped ends there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "provider/counters.hpp"

namespace warpaes::provider {

/// One in a process, and of a process's children each its own. A count is added to the file at once, under a lock of
/// the file's; what cannot be added now waits for the next one. Takes no lock that anybody could keep it waiting for,
/// and lets go of none in a child.
class CounterFile {
public:
    /// False, and `why` says it, if the file cannot be opened, or is somebody else's. From then on this one is meant.
    bool open(const std::string& path, std::string& why);
    [[nodiscard]] bool is_open() const noexcept { return path_.load(std::memory_order_acquire) != nullptr; }

    void add(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept;
    void add_load() noexcept;

    /// For a handler of fork(): what waits is the parent's to write, and a lock another thread's that is not here.
    void forked() noexcept;

private:
    void write_down() noexcept;
    bool add_to_file() noexcept;
    [[nodiscard]] int file() noexcept;

    std::atomic<const std::string*> path_{nullptr};
    std::atomic_flag busy_;             ///< a thread writes
    std::atomic<bool> waiting_{false};  ///< `counts_` are not zero, as far as anybody knows
    std::atomic<bool> patient_{true};   ///< the lock was free the last time
    Counters counts_{};
    int file_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace warpaes::provider
