// Identifies the running process. fork() copies every object into the child: nonces and generator states, which must
// not be used twice, handles of the parent's threads, and locks that the parent's threads hold.
#pragma once

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace warpaes {

/// A number that differs from the numbers of all ancestors of this process. After the first call, reading it costs two
/// loads. A page that the kernel clears in a child of fork() (MADV_WIPEONFORK) distinguishes the child from its parent.
/// Process IDs and fork() handlers are not sufficient: a raw clone() runs no handlers, and in another namespace the
/// child may have its parent's ID. Kernels before 4.14 do not clear the page: there, a handler clears it, and process
/// IDs are compared. A child that shares its parent's memory (vfork) has no copies of objects, so it has the same
/// number.
[[nodiscard]] std::uint64_t this_process() noexcept;

/// The process that owns an object: the process that created it or that last took ownership of it.
class Home {
public:
    Home() noexcept : process_(this_process()) {}
    [[nodiscard]] bool is_here() const noexcept { return process_ == this_process(); }
    /// Throws Error{STATE} in any other process. The message begins with `thing` and ends with `instead`.
    void require(const char* thing, const char* instead) const {
        if (!is_here()) refuse(thing, instead);
    }
    void take_over() noexcept { process_ = this_process(); }

private:
    [[noreturn, gnu::cold]] static void refuse(const char* thing, const char* instead);

    std::uint64_t process_;
};

/// A lock that fork() waits for, so that in the child the lock is free and the guarded data is consistent.
class LockAcrossFork {
public:
    LockAcrossFork(const LockAcrossFork&) = delete;
    LockAcrossFork& operator=(const LockAcrossFork&) = delete;

    virtual void before_fork() = 0;
    virtual void after_in_parent() = 0;
    virtual void after_in_child() = 0;

protected:
    LockAcrossFork();
    ~LockAcrossFork();

private:
    friend struct LocksAcrossFork;
    LockAcrossFork *previous_ = nullptr, *next_ = nullptr;
};

/// A lock that fork() waits for; otherwise like Mutex. While holding it, a thread must not acquire another lock, call a
/// function supplied by the library's user, or fork.
template <typename Mutex = std::mutex>
class ForkSafe final : private LockAcrossFork {
public:
    void lock() { mutex_.lock(); }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }
    void lock_shared() { mutex_.lock_shared(); }
    void unlock_shared() { mutex_.unlock_shared(); }

private:
    void before_fork() override { mutex_.lock(); }
    void after_in_parent() override { mutex_.unlock(); }
    // The lock is not unlocked, because it may record its holder's thread ID, which differs from the thread ID in the
    // child.
    void after_in_child() override { new (&mutex_) Mutex; }

    Mutex mutex_;
};

}  // namespace warpaes
