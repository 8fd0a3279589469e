// Tests that the oracles agree with the standards' examples, with each other and with NIST's response files.
#include "reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "evp_oracle.hpp"
#include "known_answers.hpp"
#include "response_file.hpp"

namespace {

using reference::Bytes;

Bytes by_reference(const std::string& mode, bool encrypt, const Bytes& key, const Bytes& iv_bytes, const Bytes& in) {
    const reference::Aes aes(key);
    const auto direction = encrypt ? reference::Direction::encrypt : reference::Direction::decrypt;
    reference::Block iv{};
    std::copy(iv_bytes.begin(), iv_bytes.end(), iv.begin());
    if (mode == "ECB") return reference::ecb(aes, direction, in);
    if (mode == "CBC") return reference::cbc(aes, direction, iv, in);
    if (mode == "OFB") return reference::ofb(aes, iv, in);
    if (mode == "CTR") return reference::ctr(aes, iv, in);
    const std::size_t segment_bits = std::stoul(mode.substr(3));
    return reference::cfb(aes, direction, iv, in, segment_bits, 8 * in.size());
}

void check_example(const vectors::Example& example) {
    const Bytes key = vectors::from_hex(example.key);
    const Bytes iv = vectors::from_hex(example.iv);
    const Bytes plaintext = vectors::from_hex(example.plaintext);
    const Bytes ciphertext = vectors::from_hex(example.ciphertext);
    EXPECT_EQ(by_reference(example.mode, true, key, iv, plaintext), ciphertext) << example.section;
    EXPECT_EQ(by_reference(example.mode, false, key, iv, ciphertext), plaintext) << example.section;
    EXPECT_EQ(oracle::evp(example.mode, true, key, iv, plaintext), ciphertext) << example.section;
    EXPECT_EQ(oracle::evp(example.mode, false, key, iv, ciphertext), plaintext) << example.section;
}

TEST(Reference, Fips197AppendixC) {
    for (const auto& example : vectors::fips_197_appendix_c) check_example(example);
}

TEST(Reference, Sp80038aAppendixF) {
    EXPECT_EQ(vectors::sp800_38a::examples.size(), 21U);
    for (const auto& example : vectors::sp800_38a::examples) check_example(example);
}

TEST(Reference, AgreesWithLibcrypto) {
    std::mt19937 random(197);
    for (const std::string mode : {"ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB", "CTR"}) {
        for (const std::size_t key_bytes : {16U, 24U, 32U}) {
            for (std::size_t length = 0; length <= 80; ++length) {
                if ((mode == "ECB" || mode == "CBC") && length % 16 != 0) continue;
                const auto draw = [&](std::size_t n) {
                    Bytes bytes(n);
                    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
                    return bytes;
                };
                const Bytes key = draw(key_bytes);
                const Bytes iv = draw(16);
                const Bytes in = draw(length);
                for (const bool encrypt : {true, false}) {
                    ASSERT_EQ(by_reference(mode, encrypt, key, iv, in), oracle::evp(mode, encrypt, key, iv, in))
                        << mode << " key " << 8 * key_bytes << " length " << length << (encrypt ? " enc" : " dec");
                }
            }
        }
    }
}

TEST(Reference, CounterWrapsAt2To128) {
    const Bytes key(16, 0x5a);
    const Bytes iv(16, 0xff);
    const Bytes in(48, 0);
    EXPECT_EQ(by_reference("CTR", true, key, iv, in), oracle::evp("CTR", true, key, iv, in));
}

TEST(Reference, Cfb1OfAnyNumberOfBits) {
    const Bytes key = vectors::from_hex(vectors::sp800_38a::key_192);
    const Bytes iv(16, 0x17);
    const Bytes in(6, 0xb7);
    reference::Block iv_block{};
    std::copy(iv.begin(), iv.end(), iv_block.begin());
    for (std::size_t bits = 1; bits <= 48; ++bits) {
        for (const bool encrypt : {true, false}) {
            const auto direction = encrypt ? reference::Direction::encrypt : reference::Direction::decrypt;
            EXPECT_EQ(reference::cfb(reference::Aes(key), direction, iv_block, in, 1, bits),
                      oracle::evp("CFB1", encrypt, key, iv, in, false, bits))
                << bits;
        }
    }
}

TEST(ResponseFile, ReadsEveryRecord) {
    EXPECT_EQ(vectors::read_response_file("kat/ECBVarKey256.rsp").size(), 512U);
    EXPECT_EQ(vectors::read_response_file("mct/CFB1MCT192.rsp").size(), 200U);
    const auto records = vectors::read_response_file("mmt/CFB1MMT128.rsp");
    ASSERT_EQ(records.size(), 20U);
    EXPECT_EQ(records[2].input(), "111");
    EXPECT_EQ(records[2].bits("CIPHERTEXT"), Bytes{0xa0});
    EXPECT_EQ(records[2].bytes("IV").size(), 16U);
    EXPECT_FALSE(records[10].encrypt);
    EXPECT_THROW(vectors::read_response_file("kat/absent.rsp"), std::runtime_error);
}

TEST(ResponseFile, TheReferenceKnowsTheAnswers) {
    for (const std::string key_bits : {"128", "192", "256"}) {
        for (const std::string mode : {"ECB", "CBC", "CFB128", "CFB8", "OFB"}) {
            for (const auto& record : vectors::read_response_file("mmt/" + mode + "MMT" + key_bits + ".rsp")) {
                EXPECT_EQ(by_reference(mode, record.encrypt, record.bytes("KEY"), record.bytes("IV"),
                                       vectors::from_hex(record.input())),
                          vectors::from_hex(record.output()))
                    << mode << key_bits;
            }
        }
    }
}

}  // namespace

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
