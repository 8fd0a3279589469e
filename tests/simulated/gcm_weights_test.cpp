// Tests the powers of H that a key keeps for kernels/gcm_windows.cu, for messages that are too long for the simulated
// GPU.
#include "cuda/gcm_weights.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace warpaes::cuda {
namespace {

class GcmWeightsOfAKey : public testing::Test {
protected:
    [[nodiscard]] FieldElement h_to(std::uint64_t n) const { return power(key_.hash_key(), n); }
    [[nodiscard]] const GcmWindowWeights& windows() const { return key_.derived<GcmWeights>().windows; }

private:
    ExpandedKey key_{std::vector<std::uint8_t>(16, 0x3b)};
};

TEST_F(GcmWeightsOfAKey, CountTheWindowsOfTheLongestMessage) {
    using G = GcmWindows;
    const std::uint64_t most = G::windows_of(GcmOnePass::most_bytes, GcmOnePass::most_aad);
    ASSERT_TRUE(GcmOnePass::fits(GcmOnePass::most_bytes, GcmOnePass::most_aad, gcm_nonce_bytes));
    constexpr std::uint64_t radix = G::radix;
    std::vector<std::uint64_t> numbers{
        1, radix - 1, radix, radix * radix - 1, radix * radix, radix * radix + radix + 1};
    for (std::uint64_t n = most - 3; n < most; ++n) numbers.push_back(n);
    for (std::uint64_t n = (1 << 18) - 1; n <= (1 << 18) + 1; ++n) numbers.push_back(n);
    for (const std::uint64_t n : numbers) {
        FieldElement product = h_to(0);
        std::uint64_t rest = n;
        for (unsigned digit = 0; rest != 0; ++digit, rest /= radix) {
            ASSERT_LT(digit, G::digits) << n;
            product = multiply(product, windows().windows[digit][rest % radix]);
        }
        EXPECT_EQ(product, h_to(n * G::window)) << n << " windows";
    }
}

TEST_F(GcmWeightsOfAKey, OmitThePositionsAfterTheLengths) {
    for (unsigned after = 0; after < GcmWindows::window; ++after) {
        const FieldElement weight = multiply(windows().after[0][after % 16], windows().after[1][after / 16]);
        EXPECT_EQ(multiply(weight, h_to(after)), h_to(0)) << after;
    }
    for (unsigned row = 0; row < 8 * GcmWindows::together; ++row) {
        EXPECT_EQ(multiply(windows().rows[row], h_to(64 * (row / 8) + 4 * (row % 8))), h_to(0)) << row;
    }
}

}  // namespace
}  // namespace warpaes::cuda
