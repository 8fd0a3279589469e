// The engine's threads, which share the work of calls, and a helper that waits for another thread.
#pragma once

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
#include "base/process.hpp"

namespace warpaes {

/// Number of processors that this process may run on.
[[nodiscard]] unsigned usable_processors();

/// Whether busy-waiting would delay the thread that is being waited for.
inline bool few_processors() {
    static const bool few = std::thread::hardware_concurrency() < 4;
    return few;
}

/// Threads that share work. They are started when first needed, up to the number that the largest shared work can use,
/// and are then kept. Thread-safe. Calls may be nested: a caller that shares work can always do all of it, so no call
/// waits for a busy thread. In a child process of fork(), the parent's threads are abandoned.
class Pool {
public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    /// Calls `work(0)` on the caller's thread, and `work(1)` to `work(n - 1)` on idle threads, each at most once: calls
    /// that no thread has started when work(0) returns are dropped. Returns when all started calls have returned. Only
    /// work(0) may throw.
    void share(unsigned n, const std::function<void(unsigned)>& work);

    /// Calls `work(i)` once for every i below `n`, on the caller's thread and other threads. Returns when all calls
    /// have ended, even if some throw, and then rethrows the exception with the lowest i.
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
    /// Work that a thread shares, valid until that thread withdraws it.
    struct Offer {
        const std::function<void(unsigned)>& work;
        unsigned next, end;    ///< indices that no thread has started
        unsigned running = 0;  ///< calls in progress
    };
    struct State {
        void make(Offer& offer);
        void withdraw(Offer& offer) noexcept;
        void serve() noexcept;

        const Home home;  ///< process that the threads belong to
        std::mutex mutex;
        std::condition_variable offered, ended;
        std::deque<Offer*> offers;
        std::vector<std::thread> threads;
        std::size_t idle = 0;
        bool stopping = false;
        std::atomic<bool> open{false};  ///< whether there are offers; read by polling threads
        std::atomic<unsigned> held{0};
    };
    /// The state of this process.
    State& state();

    std::atomic<State*> state_{nullptr};

public:
    /// Work that other threads may do while its owner does something else: `work(first)` to `work(end - 1)`, each at
    /// most once, on idle threads. The destructor waits for calls that have started and skips the other calls. In a
    /// child process of fork(), the destructor does not wait, because no call runs there.
    class Offered {
    public:
        /// `work` must outlive this object and may not throw.
        Offered(Pool& pool, const std::function<void(unsigned)>& work, unsigned first, unsigned end);
        Offered(const Offered&) = delete;
        Offered& operator=(const Offered&) = delete;
        ~Offered();

    private:
        State& state_;
        Offer offer_;
    };

    /// While a Hold exists, threads that have finished their work poll for more work for up to 100 us before they
    /// sleep. Use it in a call that shares work twice: a sleeping thread would start the second work tens of
    /// microseconds late. With few processors, it has no effect.
    class Hold {
    public:
        explicit Hold(Pool& pool, bool polls = !few_processors()) : state_(pool.state()), polls_(polls) {
            state_.held += polls_;
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        ~Hold() { state_.held -= polls_; }

    private:
        State& state_;
        const bool polls_;
    };
};

/// Polls until `ready()` is true; returns false if that takes longer than `time`. Polling avoids the tens of
/// microseconds that waking a sleeping thread takes. With few processors, it calls `ready()` only once.
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
