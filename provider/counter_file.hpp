// A file of counters that several processes share. It is never mapped, because any process that may write to the file
// may also truncate it, and accessing a truncated mapping kills the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "provider/counters.hpp"

namespace warpaes::provider {

/// One object per process; each child process has its own. Counts are added to the file immediately, under a file lock.
/// Counts that cannot be added wait for the next call. The object acquires no lock that other threads or processes
/// could hold for a long time, and releases no lock in a child process.
class CounterFile {
public:
    /// Opens the file that add() updates. Returns false, with the reason in `why`, if the file cannot be opened or is
    /// not a counter file.
    bool open(const std::string& path, std::string& why);
    [[nodiscard]] bool is_open() const noexcept { return path_.load(std::memory_order_acquire) != nullptr; }

    void add(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept;
    void add_load() noexcept;

    /// Must be called in a child of fork(). Drops the waiting counts, which the parent writes, and releases `busy_`,
    /// whose holder may be a thread that does not exist in the child.
    void forked() noexcept;

private:
    void write_down() noexcept;
    bool add_to_file() noexcept;
    [[nodiscard]] int file() noexcept;

    std::atomic<const std::string*> path_{nullptr};
    std::atomic_flag busy_;             ///< set while a thread is writing
    std::atomic<bool> waiting_{false};  ///< `counts_` may be nonzero
    std::atomic<bool> patient_{true};   ///< false: the last attempt to lock the file failed
    Counters counts_{};
    int file_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace warpaes::provider
