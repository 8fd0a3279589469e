// Work on threads, also where the system has no threads to give.
#include "base/threads.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

namespace {

/// Threads that may still be started.
std::atomic<int> threads_left = std::numeric_limits<int>::max();

}  // namespace

/// In place of the system's: std::thread calls it.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
    if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
    static const auto system = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return system(thread, attributes, start, argument);
}

namespace warpaes::test {
namespace {

struct Record {
    explicit Record(std::size_t n) : times(n), thread(n) {}

    void operator()(std::size_t i) {
        ++times.at(i);
        thread.at(i) = std::this_thread::get_id();
    }
    [[nodiscard]] bool all_once() const {
        return std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
    }
    [[nodiscard]] std::size_t on_this_thread() const {
        return static_cast<std::size_t>(std::count(thread.begin(), thread.end(), std::this_thread::get_id()));
    }

    std::vector<int> times;
    std::vector<std::thread::id> thread;
};

class OnThreads : public testing::Test {
protected:
    OnThreads() { allow(std::numeric_limits<int>::max()); }
    ~OnThreads() override { allow(std::numeric_limits<int>::max()); }

    static void allow(int threads) { threads_left = threads; }
};

TEST_F(OnThreads, EachOnItsOwn) {
    for (const std::size_t n : {0u, 1u, 2u, 3u, 8u}) {
        SCOPED_TRACE(n);
        Record record(n);
        on_threads(n, [&](std::size_t i) { record(i); });
        EXPECT_TRUE(record.all_once());
        EXPECT_EQ(std::set(record.thread.begin(), record.thread.end()).size(), n);
        if (n != 0) {
            EXPECT_EQ(record.thread[0], std::this_thread::get_id());
        }
    }
}

TEST_F(OnThreads, WhatThereIsNoThreadForIsDoneHere) {
    constexpr std::size_t n = 5;
    for (std::size_t threads = 0; threads < n; ++threads) {
        SCOPED_TRACE(threads);
        allow(static_cast<int>(threads));
        Record record(n);
        on_threads(n, [&](std::size_t i) { record(i); });
        EXPECT_TRUE(record.all_once());
        EXPECT_EQ(record.on_this_thread(), n - threads);
    }
}

TEST_F(OnThreads, TheFirstByNumberIsThrownWhenAllHaveEnded) {
    Record record(4);
    std::latch third_throws(1);
    const auto work = [&](std::size_t i) {
        record(i);
        if (i == 3) {
            third_throws.count_down();
            throw std::runtime_error("3");
        }
        if (i == 1) {
            third_throws.wait();
            throw std::logic_error("1");
        }
    };
    EXPECT_THROW(on_threads(record.times.size(), work), std::logic_error);
    EXPECT_TRUE(record.all_once());
}

TEST_F(OnThreads, ErrorsOfWhatIsDoneHereAreThrownToo) {
    for (const int threads : {0, 1, 2}) {
        SCOPED_TRACE(threads);
        allow(threads);
        Record record(3);
        std::string caught = "nothing";
        try {
            on_threads(record.times.size(), [&](std::size_t i) {
                record(i);
                throw std::runtime_error(std::to_string(i));
            });
        } catch (const std::runtime_error& e) {
            caught = e.what();
        }
        EXPECT_EQ(caught, "0");
        EXPECT_TRUE(record.all_once());
    }
}

/// A piece of work may fail as the start of a thread does: it is not done again.
TEST_F(OnThreads, ASystemErrorOfTheWorkIsTheWorks) {
    Record record(3);
    const auto work = [&](std::size_t i) {
        record(i);
        if (i == 0) throw std::system_error(EAGAIN, std::generic_category());
    };
    EXPECT_THROW(on_threads(record.times.size(), work), std::system_error);
    EXPECT_TRUE(record.all_once());
}

}  // namespace
}  // namespace warpaes::test
