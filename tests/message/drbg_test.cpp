// The limit of CTR_DRBG that nobody reaches through the C ABI.
#include "message/drbg.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

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
    drbg.generate(out, {}, true);  // which reseeds
}

}  // namespace
}  // namespace warpaes
