// What cleans the stack behind a call, where the caller's functions change stack and thread in its midst.
#include "base/clean_stack.hpp"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace warpaes::test {
namespace {

/// A call on a stack of its own, which leaves it from the caller's function.
class Coroutine {
public:
    Coroutine() : stack_(std::size_t{256} << 10) {
        getcontext(&its_);
        its_.uc_stack.ss_sp = stack_.data();
        its_.uc_stack.ss_size = stack_.size();
        its_.uc_link = &back_;
        // makecontext() hands on ints alone.
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        makecontext(&its_, reinterpret_cast<void (*)()>(&Coroutine::begin), 2, static_cast<unsigned>(self >> 32),
                    static_cast<unsigned>(self));
    }
    /// Until it leaves, or ends.
    void resume() { swapcontext(&back_, &its_); }
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool intact() const { return intact_; }

private:
    static void begin(unsigned high, unsigned low) {
        reinterpret_cast<Coroutine*>(std::uintptr_t{high} << 32 | low)->run();
    }
    void run() {
        volatile std::uint64_t mine[64];
        for (auto& word : mine) word = 0x5ca1ab1e;
        clean_stack([&] {
            note_stack_depth(4096);
            call_back([&] { swapcontext(&its_, &back_); });
        });
        for (auto& word : mine) intact_ = intact_ && word == 0x5ca1ab1e;
        ended_ = true;
    }

    std::vector<std::uint8_t> stack_;
    ucontext_t its_{}, back_{};
    bool ended_ = false, intact_ = true;
};

TEST(CleanStack, IsEachCoroutinesOwn) {
    Coroutine a, b, c;
    for (Coroutine* each : {&a, &b, &c}) each->resume();
    for (Coroutine* each : {&b, &c, &a}) {
        ASSERT_FALSE(each->ended());
        each->resume();
        EXPECT_TRUE(each->ended());
        EXPECT_TRUE(each->intact());
    }
}

TEST(CleanStack, GoesWithACoroutineToAnotherThread) {
    Coroutine call;
    std::thread([&] {
        call.resume();
        // The thread is in no call now: what it does is cleaned up after as usual.
        EXPECT_TRUE(detail::begin_clean_stack());
        detail::end_clean_stack();
    }).join();
    std::thread([&] { call.resume(); }).join();
    EXPECT_TRUE(call.ended());
    EXPECT_TRUE(call.intact());
}

}  // namespace
}  // namespace warpaes::test
