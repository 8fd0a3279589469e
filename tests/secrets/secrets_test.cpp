// Tests that, after every operation, none of its secrets remains in freed blocks, on the stacks of the caller and the
// workers, in the engine's lanes, in vector registers, or in the simulated GPU's memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "abi/support.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "patterns.hpp"

namespace {

using namespace secrets;

World& world() {
    static World all;
    return all;
}

bool lives(const std::string& finding) {
    return finding.find(" at ") != std::string::npos;
}

/// Returns the new findings. A finding at an address in live memory counts only if it is still found after a second,
/// because a worker wipes its lane only when it becomes idle.
std::vector<std::string> findings_that_stay(const std::set<std::string>& told) {
    std::vector<std::string> all;
    for (int look = 0;; ++look) {
        std::vector<std::string> alive;
        for (const std::string& finding : findings()) {
            if (!told.contains(finding)) (lives(finding) ? alive : all).push_back(finding);
        }
        if (alive.empty() || look == 50) {
            all.insert(all.end(), alive.begin(), alive.end());
            return all;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

class SecretsTest : public testing::TestWithParam<std::string> {};

TEST_P(SecretsTest, NothingIsLeftOfAnyOperation) {
    const bool on_gpu = GetParam() == "cuda";
    if (!abi_tests::simulated() && ::access("/dev/nvidiactl", F_OK) == 0) {
        GTEST_SKIP()
            << "what a GPU's driver maps cannot all be read: a machine without a GPU runs this, and the test of "
               "this name after \"simulated.\" every machine";
    }
    World& w = world();
    abi_tests::Engine engine = abi_tests::make_engine(GetParam(), 0, 2),
                      cutting = abi_tests::make_engine(GetParam(), World::small_chunk, 2);
    Caller caller;
    std::set<std::string> told;
    const auto check = [&](const std::string& after) {
        // Data that is kept between batches is freed after several seconds without use, or here.
        if (engine != nullptr) {
            EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK);
        }
        std::set<std::string> here;
        for (const std::string& finding : findings_that_stay(told)) {
            told.insert(finding);
            if (here.insert(finding.substr(0, finding.find(" at "))).second) {
                ADD_FAILURE() << after << ": " << finding;
            }
        }
        EXPECT_EQ(w.complaints(), "") << after;
        ASSERT_LT(told.size(), 1000u) << "the remaining operations would take too long";
    };
    for (const std::string& finding : findings()) told.insert(finding);  // secrets that other tests left
    for (const Operation& operation : w.operations(engine.get(), cutting.get(), on_gpu)) {
        if (operation.before) operation.before();
        watch_frees(true);
        caller.call(operation.run);
        watch_frees(false);
        check(operation.name);
        if (HasFatalFailure()) return;
    }
    cutting.reset();
    engine.reset();
    check("the engines' end");
}

WARPAES_FOR_EVERY_BACKEND(SecretsTest);

// ----------------------------------------------------------------------------------------- the search finds planted
// secrets

class Control : public testing::Test {
protected:
    Control() {
        (void)world();
        (void)findings();
    }
    /// Runs `work` on the caller's thread and returns the secrets that it leaves.
    std::string left_by(const std::function<void()>& work) {
        watch_frees(true);
        caller_.call(work);
        watch_frees(false);
        std::string all;
        for (const std::string& finding : findings()) all += finding + "\n";
        return all;
    }
    static std::uint8_t* secret() {
        static std::uint8_t* const bytes = [] {
            std::uint8_t* const memory = own(32);
            if (!apart([memory] {
                    for (unsigned i = 0; i < 32; ++i) memory[i] = static_cast<std::uint8_t>(200 - 7 * i);
                    look_for_bytes({memory, 32}, "planted");
                })) {
                std::abort();
            }
            return memory;
        }();
        return bytes;
    }
    Caller caller_;
};

TEST_F(Control, NothingIsFoundWhereNothingIs) {
    (void)secret();
    EXPECT_EQ(left_by([] {}), "");
}

TEST_F(Control, AFreedBlock) {
    const std::uint8_t* const bytes = secret();
    EXPECT_NE(left_by([bytes] {
                  void* const block = std::malloc(100);
                  std::memcpy(static_cast<char*>(block) + 50, bytes, 32);
                  asm volatile("" ::"r"(block) : "memory");
                  std::free(block);
              }).find("planted in freed memory"),
              std::string::npos);
}

TEST_F(Control, ABlockThatIsKept) {
    const std::uint8_t* const bytes = secret();
    static void* kept = nullptr;
    EXPECT_NE(left_by([bytes] {
                  kept = std::malloc(100);
                  std::memcpy(static_cast<char*>(kept) + 3, bytes, 32);
              }).find("planted at"),
              std::string::npos);
    std::memset(kept, 0, 100);
    std::free(kept);
}

TEST_F(Control, TheDeadStack) {
    const std::uint8_t* const bytes = secret();
    EXPECT_NE(left_by([bytes] {
                  volatile std::uint8_t frame[3000];
                  for (std::size_t i = 0; i < sizeof frame; ++i) frame[i] = bytes[i % 32];
              }).find("planted at"),
              std::string::npos);
}

#if defined(__x86_64__)
TEST_F(Control, AVectorRegister) {
    const std::uint8_t* const bytes = secret();
    EXPECT_NE(left_by([bytes] { asm volatile("movdqu %0, %%xmm9" ::"m"(*bytes)
                                             : "xmm9"); }).find("vector register"),
              std::string::npos);
}
#elif defined(__aarch64__)
TEST_F(Control, AVectorRegister) {
    const std::uint8_t* const bytes = secret();
    EXPECT_NE(left_by([bytes] { asm volatile("ldr q19, %0" ::"m"(*bytes)
                                             : "v19"); }).find("vector register"),
              std::string::npos);
}
#endif

}  // namespace
