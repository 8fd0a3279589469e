// Tests behaviour of CTR_DRBG that tests cannot reach through the C ABI: its limit, and a process with the PID of an
// earlier process.
#include "message/drbg.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.hpp"

/// Replaces libc's getpid. The system reuses process IDs; here, every process has the same ID.
pid_t getpid() noexcept {
    return 4321;
}

namespace warpaes {
namespace {

TEST(DrbgLimit, RequestsBeforeItIsReseeded) {
    static_assert(Drbg::Options{}.most_requests == std::uint64_t{1} << 48);
    Engine engine({.backend = "libcrypto"});
    Drbg drbg(engine, {.entropy = {}, .nonce = {}, .personalization = {}, .most_requests = 3});
    std::array<std::uint8_t, 16> out{};
    for (int seeds = 0; seeds < 2; ++seeds) {
        for (int i = 0; i < 3; ++i) drbg.generate(out, {}, false);
        const auto before = out;
        try {
            drbg.generate(out, {}, false);
            FAIL() << "went on";
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), WARPAES_ERROR_STATE);
        }
        EXPECT_EQ(out, before);
        drbg.reseed({}, {});
    }
    for (int i = 0; i < 3; ++i) drbg.generate(out, {}, false);
    drbg.generate(out, {}, true);  // this call reseeds
}

TEST(DrbgFork, AChildWithTheSameNumberGivesOtherBytes) {
    Engine engine({.backend = "libcrypto"});
    Drbg drbg(engine, {.entropy = {}, .nonce = {}, .personalization = {}});
    std::array<std::uint8_t, 32> its{}, ours{};
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        drbg.generate(its, {}, false);
        _exit(write(ends[1], its.data(), its.size()) == static_cast<ssize_t>(its.size()) ? 0 : 1);
    }
    EXPECT_EQ(read(ends[0], its.data(), its.size()), static_cast<ssize_t>(its.size()));
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    close(ends[0]);
    close(ends[1]);
    drbg.generate(ours, {}, false);
    EXPECT_NE(its, ours);
}

}  // namespace
}  // namespace warpaes
