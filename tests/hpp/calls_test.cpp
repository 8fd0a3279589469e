// Tests calls that the C++ headers make to the C ABI and to the system and that leave no trace in the output.
// CMakeLists.txt makes the linker replace these functions with __wrap_… in this program's objects.
#include <gtest/gtest.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <string>
#include <vector>
#include <warpaes/gcm.hpp>
#include <warpaes/streams.hpp>
#include <warpaes/warpaes.hpp>

namespace {

/// The recorded calls in order.
std::vector<std::string> calls;
/// Simulated results of getrandom(): the maximum number of bytes to return, or an error. If the list is empty,
/// getrandom() works normally.
std::vector<ssize_t> random_answers;
std::uint8_t next_byte = 0;

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker requires
ssize_t __real_getrandom(void* buffer, size_t length, unsigned flags);
warpaes_status __real_warpaes_engine_flush_keys(warpaes_engine* engine);
void __real_warpaes_free(warpaes_engine* engine, void* pointer);
warpaes_status __real_warpaes_scrypt_choose(double seconds, warpaes_scrypt* cost);

ssize_t __wrap_getrandom(void* buffer, size_t length, unsigned flags) {
    if (random_answers.empty()) return __real_getrandom(buffer, length, flags);
    const ssize_t answer = random_answers.front();
    random_answers.erase(random_answers.begin());
    if (answer < 0) {
        errno = static_cast<int>(-answer);
        return -1;
    }
    const auto count = std::min(static_cast<size_t>(answer), length);
    auto* const bytes = static_cast<std::uint8_t*>(buffer);
    std::iota(bytes, bytes + count, next_byte);
    next_byte = static_cast<std::uint8_t>(next_byte + count);
    return static_cast<ssize_t>(count);
}
warpaes_status __wrap_warpaes_engine_flush_keys(warpaes_engine* engine) {
    calls.emplace_back("flush_keys");
    return __real_warpaes_engine_flush_keys(engine);
}
void __wrap_warpaes_free(warpaes_engine* engine, void* pointer) {
    calls.emplace_back(pointer != nullptr ? "free" : "free of nothing");
    __real_warpaes_free(engine, pointer);
}
warpaes_status __wrap_warpaes_scrypt_choose(double seconds, warpaes_scrypt* cost) {
    calls.push_back("scrypt_choose " + std::to_string(seconds));
    return __real_warpaes_scrypt_choose(0, cost);  // a low cost keeps the tests fast
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

using Calls = std::vector<std::string>;

class HppCalls : public testing::Test {
protected:
    void SetUp() override { calls.clear(); }
    void TearDown() override { random_answers.clear(); }

    const warpaes::Engine engine;
};

/// Every byte of a nonce comes from the system, even if the system returns only a few bytes per call.
TEST_F(HppCalls, NoncesAreRandomThroughout) {
    const warpaes::Key key(std::vector<std::uint8_t>(16));
    for (const std::vector<ssize_t>& answers :
         {std::vector<ssize_t>{12}, {1, 11}, {4, 4, 4}, {-EINTR, 5, -EINTR, 6, 1}}) {
        random_answers = answers;
        next_byte = 1;
        const std::vector<std::uint8_t> sealed = warpaes::seal(engine, key, {});
        EXPECT_EQ(std::vector<std::uint8_t>(sealed.begin(), sealed.begin() + 12),
                  (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
        EXPECT_TRUE(random_answers.empty());
    }
    random_answers = {4, -ENOSYS};
    try {
        (void)warpaes::seal(engine, key, {});
        FAIL() << "without random numbers";
    } catch (const warpaes::Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_INTERNAL);
        EXPECT_STREQ(e.what(), "the system provides no random numbers");
    }
}

TEST_F(HppCalls, BuffersAreReleasedOnce) {
    {
        warpaes::HostBuffer buffer(engine, 4096);
        const warpaes::HostBuffer moved = std::move(buffer);
        EXPECT_EQ(calls, Calls{});
    }
    EXPECT_EQ(calls, Calls{"free"});
}

TEST_F(HppCalls, KeysAreFlushed) {
    engine.flush_keys();
    EXPECT_EQ(calls, Calls{"flush_keys"});
}

/// By default, each guess at a passphrase takes a second.
TEST_F(HppCalls, PassphrasesCostASecond) {
    warpaes::Keyset keyset;
    keyset.add("AES128_GCM_HKDF_4KB");
    (void)keyset.wrap("x");
    EXPECT_EQ(calls, Calls{"scrypt_choose " + std::to_string(1.0)});
}

}  // namespace
