// Tests that the reference GCM agrees with libcrypto and with the examples of GCM's authors (McGrew and Viega, "The
// Galois/Counter Mode of Operation", appendix B), which NIST adopted.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "evp_oracle.hpp"
#include "reference.hpp"
#include "response_file.hpp"

namespace {

using reference::Bytes;
using vectors::from_hex;

Bytes seal(const Bytes& key, const Bytes& iv, const Bytes& plaintext, const Bytes& aad) {
    const reference::Aes aes(key);
    auto [c, t] = reference::gcm::encrypt(aes, reference::gcm::j0(aes, iv), plaintext, aad);
    c.insert(c.end(), t.begin(), t.end());
    return c;
}

struct Example {
    const char* key;
    const char* iv;
    const char* plaintext;
    const char* aad;
    const char* sealed;
};

constexpr const char* zero_key = "00000000000000000000000000000000";
constexpr const char* zero_iv = "000000000000000000000000";
constexpr const char* key = "feffe9928665731c6d6a8f9467308308";
constexpr const char* plaintext_60 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
constexpr const char* aad_20 = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

constexpr Example examples[] = {
    {zero_key, zero_iv, "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {zero_key, zero_iv, "00000000000000000000000000000000", "",
     "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
    {key, "cafebabefacedbaddecaf888", plaintext_60, aad_20,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {key, "cafebabefacedbad", plaintext_60, aad_20,
     "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
     "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598"
     "3612d2e79e3b0785561be14aaca2fccb"},
};

TEST(GcmReference, KnowsTheExamplesOfItsAuthors) {
    for (const Example& e : examples) {
        EXPECT_EQ(seal(from_hex(e.key), from_hex(e.iv), from_hex(e.plaintext), from_hex(e.aad)), from_hex(e.sealed));
    }
}

TEST(GcmReference, AgreesWithLibcrypto) {
    std::mt19937 random(38);
    const auto draw = [&](std::size_t n) {
        Bytes bytes(n);
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
        return bytes;
    };
    for (const std::size_t key_bytes : {16U, 24U, 32U}) {
        for (std::size_t length = 0; length <= 70; ++length) {
            const Bytes key_drawn = draw(key_bytes), iv = draw(length % 3 == 0 ? 12 : 1 + length);
            const Bytes plaintext = draw(length), aad = draw(length * 7 % 41);
            ASSERT_EQ(seal(key_drawn, iv, plaintext, aad), oracle::evp_gcm(key_drawn, iv, plaintext, aad)) << length;
        }
    }
}

TEST(GcmReference, TheCounterWrapsWithoutACarry) {
    reference::Block block{};
    block.fill(0xff);
    reference::Block expected = block;
    std::fill(expected.begin() + 12, expected.end(), std::uint8_t{0});
    EXPECT_EQ(reference::gcm::inc32(block), expected);
}

}  // namespace
