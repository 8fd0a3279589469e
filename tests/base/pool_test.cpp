// Tests work that threads share, also when the system refuses to start new threads.
#include "base/pool.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

/// The number of threads that may still start.
std::atomic<int> threads_left = std::numeric_limits<int>::max();

}  // namespace

/// Replaces the system's pthread_create, which std::thread calls.
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

class PoolTest : public testing::Test {
protected:
    PoolTest() { allow(std::numeric_limits<int>::max()); }
    ~PoolTest() override { allow(std::numeric_limits<int>::max()); }

    static void allow(int threads) { threads_left = threads; }

    Pool pool_;
};

TEST_F(PoolTest, EachOnItsOwnIfAllHaveToBeThere) {
    for (const unsigned n : {1u, 2u, 3u, 8u}) {
        SCOPED_TRACE(n);
        Record record(n);
        std::latch all(n);
        pool_.share(n, [&](unsigned i) {
            record(i);
            all.arrive_and_wait();
        });
        EXPECT_TRUE(record.all_once());
        EXPECT_EQ(std::set(record.thread.begin(), record.thread.end()).size(), n);
        EXPECT_EQ(record.thread[0], std::this_thread::get_id());
    }
}

TEST_F(PoolTest, EachPieceOnce) {
    for (const std::size_t n : {0u, 1u, 2u, 3u, 8u}) {
        SCOPED_TRACE(n);
        Record record(n);
        pool_.for_each(n, [&](std::size_t i) { record(i); });
        EXPECT_TRUE(record.all_once());
    }
}

TEST_F(PoolTest, ThreadsAreKept) {
    const int before = threads_left;
    for (int turn = 0; turn < 100; ++turn) {
        std::latch all(4);
        pool_.share(4, [&](unsigned) { all.arrive_and_wait(); });
    }
    EXPECT_EQ(before - threads_left, 3);
}

TEST_F(PoolTest, WhatThereIsNoThreadForIsDoneHere) {
    for (const int threads : {0, 1, 2, 3}) {
        SCOPED_TRACE(threads);
        Pool pool;
        allow(threads);
        Record record(5);
        pool.for_each(5, [&](std::size_t i) { record(i); });
        EXPECT_TRUE(record.all_once());
        if (threads == 0) {
            EXPECT_EQ(record.on_this_thread(), 5u);
        }
    }
}

TEST_F(PoolTest, SharesWithinSharesAndFromManyThreads) {
    std::atomic<int> done{0};
    const auto nested = [&](unsigned) {
        pool_.for_each(5, [&](std::size_t) { pool_.for_each(3, [&](std::size_t) { ++done; }); });
    };
    std::vector<std::jthread> callers;
    for (unsigned i = 0; i < 6; ++i) {
        callers.emplace_back([&, i] {
            for (int turn = 0; turn < 50; ++turn) nested(i);
        });
    }
    callers.clear();
    EXPECT_EQ(done, 6 * 50 * 5 * 3);
}

TEST_F(PoolTest, NobodyIsLateForWhatHasEnded) {
    for (int turn = 0; turn < 2000; ++turn) {
        std::atomic<int> inside{0};
        pool_.share(3, [&](unsigned) { ++inside; });
        const int seen = inside;
        std::this_thread::yield();
        ASSERT_EQ(inside, seen);
    }
}

/// The pool's workers may be polling, about to sleep, or sleeping when new work arrives.
TEST_F(PoolTest, HeldThreadsTakeTheNextWork) {
    const auto all_together = [&] {
        std::latch here(4);
        pool_.share(4, [&](unsigned) { here.arrive_and_wait(); });
    };
    for (int turn = 0; turn < 500; ++turn) {
        const Pool::Hold hold(pool_, true);
        all_together();
        if (turn % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than workers poll
        all_together();
    }
    all_together();
    Pool other;
    std::optional<Pool::Hold> hold(std::in_place, other, true);
    other.share(3, [](unsigned) {});
    hold.reset();
}

TEST_F(PoolTest, HeldThreadsServeManyCallers) {
    std::atomic<int> done{0};
    std::vector<std::jthread> callers;
    for (unsigned i = 0; i < 4; ++i) {
        callers.emplace_back([&] {
            for (int turn = 0; turn < 100; ++turn) {
                const Pool::Hold hold(pool_, true);
                pool_.for_each(5, [&](std::size_t) { ++done; });
                pool_.for_each(5, [&](std::size_t) { ++done; });
            }
        });
    }
    callers.clear();
    EXPECT_EQ(done, 4 * 100 * 10);
}

TEST_F(PoolTest, AChildProcessHasItsOwnThreads) {
    auto inherited = std::make_unique<Pool>();
    std::latch here(4);
    inherited->share(4, [&](unsigned) { here.arrive_and_wait(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // at least some of the workers are asleep now
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<int> count{0};
        std::latch all(3);
        inherited->share(3, [&](unsigned) {
            ++count;
            all.arrive_and_wait();
        });
        inherited.reset();  // does not join the parent's threads
        _exit(count == 3 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(PoolTest, TheFirstByNumberIsThrownWhenAllHaveEnded) {
    Record record(4);
    const auto work = [&](std::size_t i) {
        record(i);
        if (i == 3) throw std::runtime_error("3");
        if (i == 1) throw std::logic_error("1");
    };
    EXPECT_THROW(pool_.for_each(record.times.size(), work), std::logic_error);
    EXPECT_TRUE(record.all_once());
}

TEST_F(PoolTest, ErrorsOfWhatIsDoneHereAreThrownToo) {
    for (const int threads : {0, 1, 2}) {
        SCOPED_TRACE(threads);
        allow(threads);
        Record record(3);
        std::string caught = "nothing";
        try {
            pool_.for_each(record.times.size(), [&](std::size_t i) {
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

TEST_F(PoolTest, OfferedWorkIsDoneMeanwhile) {
    std::latch begun(2);
    std::atomic<int> ended{0};
    const std::function<void(unsigned)> work = [&](unsigned number) {
        EXPECT_TRUE(number == 1 || number == 2) << number;
        begun.arrive_and_wait();
        ++ended;
    };
    {
        const Pool::Offered offered(pool_, work, 1, 3);
        begun.wait();
    }
    EXPECT_EQ(ended, 2) << "the pool did not wait for work that had begun";
}

TEST_F(PoolTest, OfferedWorkThatNobodyTakesIsLeftOut) {
    allow(0);
    int calls = 0;
    const std::function<void(unsigned)> work = [&](unsigned) { ++calls; };
    { const Pool::Offered offered(pool_, work, 1, 3); }
    { const Pool::Offered nothing(pool_, work, 1, 1); }
    EXPECT_EQ(calls, 0);
}

/// A child of fork() does not wait for the parent's threads.
TEST_F(PoolTest, OfferedWorkEndsInAChildAtOnce) {
    std::latch begun(1), go_on(1);
    const std::function<void(unsigned)> work = [&](unsigned) {
        begun.count_down();
        go_on.wait();
    };
    auto offered = std::make_unique<Pool::Offered>(pool_, work, 1, 2);
    begun.wait();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        offered.reset();
        _exit(0);
    }
    go_on.count_down();
    offered.reset();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

/// A piece of work may throw the same exception as a failed thread start. The work must not be repeated.
TEST_F(PoolTest, ASystemErrorOfTheWorkIsTheWorks) {
    Record record(3);
    const auto work = [&](std::size_t i) {
        record(i);
        if (i == 0) throw std::system_error(EAGAIN, std::generic_category());
    };
    EXPECT_THROW(pool_.for_each(record.times.size(), work), std::system_error);
    EXPECT_TRUE(record.all_once());
}

}  // namespace
TEST(Poll, AsksUntilItIsSoOrTheTimeIsOver) {
    using namespace std::chrono_literals;
    int asked = 0;
    EXPECT_TRUE(poll(
        10min, [&] { return ++asked == 5; }, false));
    EXPECT_EQ(asked, 5);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(poll(
        2ms, [] { return false; }, false));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
}

TEST(Poll, WithFewProcessorsItAsksOnce) {
    using namespace std::chrono_literals;
    int asked = 0;
    EXPECT_FALSE(poll(
        10min, [&] { return ++asked == 2; }, true));
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(poll(
        10min, [] { return true; }, true));
}

}  // namespace warpaes::test
