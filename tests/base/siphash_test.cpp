// Compares SipHash-1-3 with the reference implementation. The key is 00 01 … 0f, and a message of n bytes is 00 01 …
// n-1.
#include "base/siphash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <utility>

namespace {

TEST(SipHash, KnownAnswers) {
    const warpaes::SipHash hash(0x0706050403020100, 0x0f0e0d0c0b0a0908);
    std::array<std::uint8_t, 64> message{};
    std::iota(message.begin(), message.end(), std::uint8_t{0});
    const std::pair<std::size_t, std::uint64_t> answers[] = {
        {0, 0xabac0158050fc4dc},  {1, 0xc9f49bf37d57ca93},  {7, 0xd3927d989bb11140},  {8, 0x369095118d299a8e},
        {15, 0xd320d86d2a519956}, {16, 0xcc4fdd1a7d908b66}, {63, 0x9d199062b7bbb3a8},
    };
    for (const auto& [bytes, answer] : answers) {
        EXPECT_EQ(hash(std::span(message).first(bytes)), answer) << bytes;
        EXPECT_NE(hash(std::span(message).first(bytes), 1), answer) << bytes << ", with a tweak";
    }
}

}  // namespace
