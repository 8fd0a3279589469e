// The engine's threads: whoever has work for several shares it with them. And waiting for another thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clean_stack.hpp"

namespace warpaes {

/// Threads are started when they are first needed, as many as the largest work that was shared has use for, and kept.
/// Thread-safe. Calls may be nested: whoever shares work can always do all of it, so nobody waits for a thread that is
/// busy. In a child process of fork() the parent's threads are forgotten.
class Pool {
public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    /// Calls `work(0)` on the caller's thread and `work(1)` to `work(n - 1)` on threads that are free meanwhile, each
    /// once or, if none gets round to it before work(0) returns, not at all. Returns when all calls have. Only work(0)
    /// may throw.
    void share(unsigned n, const std::function<void(unsigned)>& work);

    /// Calls `work(i)` once for every i below `n`, on the caller's thread and others. Returns when all have ended, also
    /// if some throw; throws then what the one with the lowest number threw.
    template <typename Work>
    void for_each(std::size_t n, const Work& work) {
        std::vector<std::exception_ptr> errors(n);
        std::atomic<std::size_t> next{0};
        share(static_cast<unsigned>(n), [&](unsigned) {
            for (std::size_t i = next++; i < n; i = next++) {
                try {
                    clean_stack([&] { work(i); });
                } catch (...) {
                    errors[i] = std::current_exception();
                }
            }
        });
        for (const std::exception_ptr& error : errors) {
            if (error) std::rethrow_exception(error);
        }
    }

private:
    /// Work that somebody shares, for as long as he says.
    struct Offer {
        const std::function<void(unsigned)>& work;
        unsigned next, end;    ///< numbers that nobody has taken
        unsigned running = 0;  ///< calls
    };
    struct State {
        explicit State(pid_t its_process) : process(its_process) {}
        void make(Offer& offer);
        void withdraw(Offer& offer) noexcept;
        void serve() noexcept;

        const pid_t process;  ///< whose threads they are
        std::mutex mutex;
        std::condition_variable offered, ended;
        std::deque<Offer*> offers;
        std::vector<std::thread> threads;
        std::size_t idle = 0;
        bool stopping = false;
    };
    /// This process's.
    State& state();

    std::atomic<State*> state_{nullptr};

public:
    /// Work that is offered while its owner does something else: `work(first)` to `work(end - 1)`, each once or not at
    /// all, on threads that are free. It ends with this: what has begun is waited for, the rest is left out. In a child
    /// process of fork() nothing is waited for, for nothing runs.
    class Offered {
    public:
        /// `work`, which may not throw, must outlive it.
        Offered(Pool& pool, const std::function<void(unsigned)>& work, unsigned first, unsigned end);
        Offered(const Offered&) = delete;
        Offered& operator=(const Offered&) = delete;
        ~Offered();

    private:
        State& state_;
        Offer offer_;
    };
};

/// Whether asking all the while would hold up the thread that is waited for.
inline bool few_processors() {
    static const bool few = std::thread::hardware_concurrency() < 4;
    return few;
}

/// Whether `ready()` is true within `time`, asking all the while: a thread that sleeps takes tens of microseconds to
/// wake up. Where there are few processors it asks once.
template <typename Ready>
bool poll(std::chrono::microseconds time, const Ready& ready, bool once = few_processors()) {
    if (ready()) return true;
    if (once) return false;
    const auto end = std::chrono::steady_clock::now() + time;
    do {
        if (ready()) return true;
        std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

}  // namespace warpaes
