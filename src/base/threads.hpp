// Work that is shared out to a few threads, and waiting for another thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clean_stack.hpp"

namespace warpaes {

/// Runs `work(i)` once for every i below `n`: each on a thread of its own, `work(0)` on the caller's, and whatever
/// there is no thread for on the caller's too. Returns when all have ended, also if some throw; throws then what the
/// one with the lowest number threw. `n` is small: it is a number of threads.
template <typename Work>
void on_threads(std::size_t n, const Work& work) {
    std::vector<std::exception_ptr> errors(n);
    const auto one = [&](std::size_t i) noexcept {
        try {
            clean_stack([&] { work(i); });
        } catch (...) {
            errors[i] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        threads.reserve(n);
        std::size_t left = n;
        try {
            for (; left > 1; --left) threads.emplace_back(one, left - 1);
        } catch (const std::system_error&) {
            // No more threads to be had: what is left is the caller's.
        }
        for (std::size_t i = 0; i < left; ++i) one(i);
    }
    for (const std::exception_ptr& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

/// Whether `ready()` is true within `time`, asking all the while: a thread that sleeps takes tens of microseconds to
/// wake up. With a few processors this would hold up the thread that is waited for, so there it asks once.
template <typename Ready>
bool poll(std::chrono::microseconds time, const Ready& ready) {
    static const bool few_processors = std::thread::hardware_concurrency() < 4;
    if (ready()) return true;
    if (few_processors) return false;
    const auto end = std::chrono::steady_clock::now() + time;
    do {
        if (ready()) return true;
        std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

}  // namespace warpaes
