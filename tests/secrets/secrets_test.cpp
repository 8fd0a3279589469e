// After every operation nothing is left of its secrets: not in freed blocks, on the stacks of the caller and the
// workers, in the lanes that the engine keeps, in vector registers, nor in the memory of the simulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "abi/support.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "patterns.hpp"

extern "C" {
[[gnu::weak]] warpaes_status warpaes_engine_flush_keys(warpaes_engine* engine);
}

namespace {

using namespace secrets;

World& world() {
    static auto* const all = new World;
    return *all;
}

/// Keys that came with a batch as bytes are kept by the engine until they are flushed, or it goes.
bool stays(const std::string& finding) {
    return &warpaes_engine_flush_keys == nullptr && finding.starts_with("raw key") &&
           finding.find(" in ") == finding.npos;
}

class SecretsTest : public testing::TestWithParam<std::string> {};

TEST_P(SecretsTest, NothingIsLeftOfAnyOperation) {
    const bool on_gpu = GetParam() == "cuda";
    if (on_gpu && !abi_tests::simulated()) GTEST_SKIP() << "memory of a real GPU cannot be looked through";
    World& w = world();
    abi_tests::Engine engine = abi_tests::make_engine(GetParam(), 0, 2);
    Caller caller;
    std::size_t found = 0;
    const auto check = [&](const std::string& after) {
        for (const std::string& finding : findings()) {
            if (stays(finding) || ++found > 200) continue;
            ADD_FAILURE() << after << ": " << finding;
        }
        EXPECT_EQ(w.complaints(), "") << after;
    };
    check("nothing");
    watch_frees(true);
    for (const Operation& operation : w.operations(engine.get(), on_gpu)) {
        if (const char* only = std::getenv("SECRETS_ONLY"); only != nullptr && operation.name.find(only) != 0) continue;
        watch_frees(false);
        if (operation.before) operation.before();
        (void)findings();
        watch_frees(true);
        caller.call(operation.run);
        check(operation.name);
    }
    engine.reset();
    check("the engine's end");
    watch_frees(false);
}

WARPAES_FOR_EVERY_BACKEND(SecretsTest);

// ----------------------------------------------------------------------------------------- that something would be
// found

class Control : public testing::Test {
protected:
    Control() {
        (void)world();
        (void)findings();
    }
    /// `work` on the caller's thread, and what it is found to have left.
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
#endif

}  // namespace
