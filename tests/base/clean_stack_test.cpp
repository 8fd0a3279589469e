// Tests stack cleaning after calls whose caller functions switch the stack or the thread.
#include "base/clean_stack.hpp"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/pool.hpp"

namespace warpaes::test {
namespace {

/// Runs work on a separate stack, whose memory the test can inspect afterwards.
class OwnStack {
public:
    void run(std::function<void()> work) {
        begin(std::move(work));
        resume();
    }
    void begin(std::function<void()> work) {
        work_ = std::move(work);
        getcontext(&its_);
        its_.uc_stack.ss_sp = stack_.data();
        its_.uc_stack.ss_size = stack_.size();
        its_.uc_link = &back_;
        // makecontext() passes only int arguments.
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        makecontext(&its_, reinterpret_cast<void (*)()>(&OwnStack::enter), 2, static_cast<unsigned>(self >> 32),
                    static_cast<unsigned>(self));
    }
    /// Runs until the work leaves the stack or ends.
    void resume() { swapcontext(&back_, &its_); }
    void leave() { swapcontext(&its_, &back_); }

    [[nodiscard]] bool holds(std::span<const std::uint8_t> bytes) const {
        return std::search(stack_.begin(), stack_.end(), bytes.begin(), bytes.end()) != stack_.end();
    }
    template <typename Values>
    [[nodiscard]] bool holds_any(const Values& values) const {
        const std::span all(reinterpret_cast<const std::uint8_t*>(&values), sizeof values);
        for (std::size_t at = 0; at + 16 <= all.size(); at += 16) {
            const auto block = all.subspan(at, 16);
            const bool empty = std::all_of(block.begin(), block.end(), [](std::uint8_t b) { return b == 0; });
            if (!empty && holds(block)) return true;
        }
        return false;
    }

private:
    static void enter(unsigned high, unsigned low) {
        reinterpret_cast<OwnStack*>(std::uintptr_t{high} << 32 | low)->work_();
    }

    std::vector<std::uint8_t> stack_ = std::vector<std::uint8_t>(std::size_t{256} << 10);
    std::function<void()> work_;
    ucontext_t its_{}, back_{};
};

/// A call that leaves its stack from within the caller's function, and continues there later.
class Coroutine {
public:
    Coroutine() {
        stack_.begin([this] { run(); });
    }
    void resume() { stack_.resume(); }
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool intact() const { return intact_; }

private:
    void run() {
        volatile std::uint64_t mine[64];
        for (auto& word : mine) word = 0x5ca1ab1e;
        clean_stack([&] {
            note_stack_depth(4096);
            call_back([&] { stack_.leave(); });
        });
        for (auto& word : mine) intact_ = intact_ && word == 0x5ca1ab1e;
        ended_ = true;
    }

    OwnStack stack_;
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
        // The thread is no longer in a call, so later calls clean the stack as usual.
        EXPECT_TRUE(detail::begin_clean_stack(usual_stack));
        detail::end_clean_stack();
    }).join();
    std::thread([&] { call.resume(); }).join();
    EXPECT_TRUE(call.ended());
    EXPECT_TRUE(call.intact());
}

/// Calls `work` from within `functions` nested functions, which have few local variables and do not record their stack
/// depths.
[[gnu::noinline]] void below(int functions, const std::function<void()>& work) {
    [[maybe_unused]] volatile std::uint8_t locals[100];
    locals[0] = 1;
    if (functions == 0) {
        work();
    } else {
        below(functions - 1, work);
    }
    locals[99] = 1;
}

constexpr int many = 60;
constexpr std::array<std::uint8_t, 16> secret{0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15,
                                              0xf3, 0x9c, 0xc0, 0x60, 0x5c, 0xed, 0xc8, 0x34};

[[gnu::noinline]] void leave_a_secret() {
    volatile std::uint8_t locals[512];
    for (std::size_t i = 0; i < sizeof locals; ++i) locals[i] = secret[i % 16];
}

TEST(CleanStack, OfACallWithinACall) {
    OwnStack stack;
    stack.run([] { below(many, leave_a_secret); });
    EXPECT_TRUE(stack.holds(secret)) << "it is at a different address, so this tests nothing";
    stack.run([] { clean_stack([] { below(many, [] { clean_stack(leave_a_secret); }); }); });
    EXPECT_FALSE(stack.holds(secret));
}

TEST(CleanStack, AsDeepAsWasNoted) {
    OwnStack stack;
    stack.run([] {
        clean_stack([] {
            below(many, [] {
                note_stack_depth();
                leave_a_secret();
            });
        });
    });
    EXPECT_FALSE(stack.holds(secret));
}

// The library overwrites exactly the depth that its own frames have. AddressSanitizer enlarges the frames, so these
// tests would fail under it.
#if !defined(__SANITIZE_ADDRESS__)
TEST(CleanStack, OfEachPieceThatIsShared) {
    OwnStack stack;
    Pool pool;
    stack.run([&] { pool.for_each(1, [](std::size_t) { leave_a_secret(); }); });
    EXPECT_FALSE(stack.holds(secret));
}

TEST(CleanStack, ExpandingAKeySaysHowDeep) {
    const std::vector<std::uint8_t> bytes(secret.begin(), secret.end());
    OwnStack stack;
    std::unique_ptr<const ExpandedKey> key;
    stack.run([&] { clean_stack([&] { below(many, [&] { key = std::make_unique<const ExpandedKey>(bytes); }); }); });
    EXPECT_FALSE(stack.holds_any(key->encrypt()));
    EXPECT_FALSE(stack.holds_any(key->decrypt()));
    stack.run([&] { clean_stack([&] { below(many, [&] { (void)key->hash_key(); }); }); });
    EXPECT_FALSE(stack.holds_any(key->hash_key()));
    stack.run([&] { clean_stack([&] { below(many, [&] { (void)key->first_round(); }); }); });
    EXPECT_FALSE(stack.holds_any(key->first_round()));
}
#endif

#if defined(__x86_64__)
using Registers = std::array<std::array<std::uint8_t, 16>, 16>;

/// Fills the lower halves of the vector registers (which every processor has), clears them and reads them, all in one
/// function. Within this function, the compiler does not use these registers.
Registers registers_after_clearing() {
    Registers left{};
    asm volatile(
        "movdqu (%0), %%xmm0\n movdqa %%xmm0, %%xmm1\n movdqa %%xmm0, %%xmm2\n movdqa %%xmm0, %%xmm3\n"
        "movdqa %%xmm0, %%xmm4\n movdqa %%xmm0, %%xmm5\n movdqa %%xmm0, %%xmm6\n movdqa %%xmm0, %%xmm7\n"
        "movdqa %%xmm0, %%xmm8\n movdqa %%xmm0, %%xmm9\n movdqa %%xmm0, %%xmm10\n movdqa %%xmm0, %%xmm11\n"
        "movdqa %%xmm0, %%xmm12\n movdqa %%xmm0, %%xmm13\n movdqa %%xmm0, %%xmm14\n movdqa %%xmm0, %%xmm15" ::"r"(
            secret.data())
        : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15");
    detail::clear_vector_registers();
    asm volatile(
        "movdqu %%xmm0, (%0)\n movdqu %%xmm1, 16(%0)\n movdqu %%xmm2, 32(%0)\n movdqu %%xmm3, 48(%0)\n"
        "movdqu %%xmm4, 64(%0)\n movdqu %%xmm5, 80(%0)\n movdqu %%xmm6, 96(%0)\n movdqu %%xmm7, 112(%0)\n"
        "movdqu %%xmm8, 128(%0)\n movdqu %%xmm9, 144(%0)\n movdqu %%xmm10, 160(%0)\n movdqu %%xmm11, 176(%0)\n"
        "movdqu %%xmm12, 192(%0)\n movdqu %%xmm13, 208(%0)\n movdqu %%xmm14, 224(%0)\n movdqu %%xmm15, 240(%0)" ::"r"(
            left.data())
        : "memory");
    return left;
}

TEST(CleanStack, ClearsEveryVectorRegister) {
    const Registers left = registers_after_clearing();
    for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i], Registers::value_type{}) << "register " << i;
}
#endif

}  // namespace
}  // namespace warpaes::test
