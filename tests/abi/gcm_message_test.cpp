// Compares the ciphertext and tag of AES-GCM messages in one call with libcrypto's, and tests altered messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "gcm.hpp"

namespace abi_tests {
namespace {

class GcmMessage : public BackendTest {
protected:
    /// Seals and opens the message, in place and with separate buffers.
    void check(const GcmCase& c) { check(c, engine_); }
    void check(const GcmCase& c, const Engine& engine) {
        const std::size_t length = c.text.size();
        SCOPED_TRACE(std::to_string(8 * c.key.size()) + " bits, iv " + std::to_string(c.iv.size()) + ", aad " +
                     std::to_string(c.aad.size()) + ", text " + std::to_string(length));
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            const Bytes& input = encrypt ? c.text : c.sealed;
            const Bytes& want = encrypt ? c.sealed : c.text;
            for (const bool in_place : {false, true}) {
                PoisonedBuffer output(length, random_.below(33)), tag(16, 3);
                if (in_place) output.assign(input);
                if (!encrypt) tag.assign(c.tag);
                Call message =
                    gcm_message(c, key, direction, in_place ? output.data() : input.data(), output.data(), tag.data());
                ASSERT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(message.result.status, WARPAES_OK);
                ASSERT_EQ(message.result.output_len, length);
                ASSERT_STREQ(message.result.backend, GetParam().c_str());
                ASSERT_TRUE(output.bytes(length) == want) << (encrypt ? "sealing" : "opening");
                ASSERT_EQ(tag.bytes(16), c.tag);
                ASSERT_TRUE(output.intact_after(length) && tag.intact_after(16)) << "wrote outside";
            }
        }
    }

    /// Checks that a sealed message altered by `change` is not authentic and that its output is zeroed.
    void expect_refused(const std::string& what, const GcmCase& c, const Engine& engine,
                        const std::function<void(GcmCase&)>& change) {
        SCOPED_TRACE(what);
        GcmCase bad = c;
        change(bad);
        const Key key = make_key(bad.key);
        for (const bool in_place : {false, true}) {
            PoisonedBuffer output(c.text.size());
            output.assign(in_place ? bad.sealed : random_.bytes(c.text.size()));
            Call message = gcm_message(bad, key, WARPAES_DECRYPT, in_place ? output.data() : bad.sealed.data(),
                                       output.data(), bad.tag.data());
            message.tag_len = bad.tag.size();
            EXPECT_EQ(crypt(engine, message), WARPAES_ERROR_AUTHENTICATION);
            EXPECT_EQ(message.result.status, WARPAES_ERROR_AUTHENTICATION);
            EXPECT_EQ(message.result.output_len, 0U);
            EXPECT_EQ(std::string(warpaes_last_error()).rfind("tag: ", 0), 0U) << warpaes_last_error();
            EXPECT_EQ(output.bytes(c.text.size()), Bytes(c.text.size(), 0)) << "plaintext remains";
            EXPECT_TRUE(output.intact_after(c.text.size()));
        }
    }

    Random random_{31};
};

TEST_P(GcmMessage, LengthsRoundEveryBorder) {
    std::vector<std::size_t> lengths{0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100};
    for (const std::size_t border : {128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
        for (const std::size_t length : {border - 17, border - 1, border, border + 1, border + 16}) {
            lengths.push_back(length);
        }
    }
    std::size_t turn = 0;
    for (const std::size_t length : lengths) {
        if (simulated() && length > 3000 && ++turn % 4 != 0) continue;
        for (const std::size_t key_bytes : {16U, 24U, 32U}) {
            check(make_gcm_case(random_, key_bytes, 12, random_.below(2) * random_.below(70), length));
        }
    }
}

TEST_P(GcmMessage, AnyAssociatedData) {
    for (const std::size_t aad :
         {0U, 1U, 12U, 15U, 16U, 17U, 31U, 32U, 33U, 64U, 65U, 255U, 256U, 1000U, 4097U, 20000U}) {
        check(make_gcm_case(random_, 16, 12, aad, 0));
        check(make_gcm_case(random_, 32, 12, aad, 100));
    }
}

TEST_P(GcmMessage, AnyIv) {
    for (std::size_t iv = 1; iv <= 40; ++iv) check(make_gcm_case(random_, 16, iv, 20, 70));
    for (const std::size_t iv : {60U, 64U, 65U, 128U, 1000U, 5000U}) check(make_gcm_case(random_, 32, iv, 0, 33));
}

TEST_P(GcmMessage, CutIntoChunks) {
    for (const std::uint32_t threads : {1U, 3U}) {
        const Engine engine = make_engine(GetParam(), 4096, threads);
        for (const std::size_t length : {4095U, 4096U, 4097U, 4112U, 8192U, 12289U, 40960U, 50001U}) {
            check(make_gcm_case(random_, 16, 12, 13, length), engine);
        }
        check(make_gcm_case(random_, 32, 8000, 30001, 8193), engine);
    }
}

/// If the output overwrites the IV or the associated data, the result is the same, regardless of how the message is
/// divided.
TEST_P(GcmMessage, IvOrAssociatedDataLieInTheOutput) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 2);
    for (const std::size_t iv_bytes : {12U, 60U}) {
        for (const std::size_t length : {100U, 20000U}) {
            const GcmCase c = make_gcm_case(random_, 16, iv_bytes, 20, length);
            const Key key = make_key(c.key);
            for (const warpaes_direction direction : directions) {
                const bool encrypt = direction == WARPAES_ENCRYPT;
                for (warpaes_engine* engine : {engine_.get(), small_chunks.get()}) {
                    PoisonedBuffer output(length);
                    std::copy(c.iv.begin(), c.iv.end(), output.data() + 1);
                    std::copy(c.aad.begin(), c.aad.end(), output.data() + 70);
                    Bytes tag = c.tag;
                    warpaes_message message =
                        gcm_message(c, key, direction, (encrypt ? c.text : c.sealed).data(), output.data(), tag.data());
                    message.iv = output.data() + 1;
                    message.aad = output.data() + 70;
                    ASSERT_EQ(warpaes_crypt(engine, &message, nullptr), WARPAES_OK) << warpaes_last_error();
                    ASSERT_TRUE(output.bytes(length) == (encrypt ? c.sealed : c.text)) << length;
                    ASSERT_EQ(tag, c.tag);
                }
            }
        }
    }
}

TEST_P(GcmMessage, TheCounterWrapsWithoutACarry) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 2);
    for (const unsigned before : {1U, 2U, 5U, 31U, 255U, 256U, 300U, 700U}) {
        GcmCase c = make_gcm_case(random_, 16 + 8 * random_.below(3), 12, 5, 16 * 900 + 3);
        Bytes j0 = random_.bytes(16);
        const std::uint32_t counter = 0U - before;
        for (unsigned i = 0; i < 4; ++i) j0[12 + i] = static_cast<std::uint8_t>(counter >> (24 - 8 * i));
        change_iv(c, iv_of(c.key, j0));
        SCOPED_TRACE(std::to_string(before) + " blocks before the wrap");
        check(c);
        check(c, small_chunks);
    }
}

TEST_P(GcmMessage, ShorterTags) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 5, 50);
    const Key key = make_key(c.key);
    for (const std::size_t length : {4U, 8U, 12U, 13U, 14U, 15U, 16U}) {
        PoisonedBuffer output(50), tag(length);
        Call message = gcm_message(c, key, WARPAES_ENCRYPT, c.text.data(), output.data(), tag.data());
        message.tag_len = length;
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(tag.bytes(length), Bytes(c.tag.begin(), c.tag.begin() + static_cast<std::ptrdiff_t>(length)));
        EXPECT_TRUE(tag.intact_after(length));
        message = gcm_message(c, key, WARPAES_DECRYPT, c.sealed.data(), output.data(), tag.data());
        message.tag_len = length;
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(output.bytes(50), c.text);
        expect_refused("a tag of " + std::to_string(length), c, engine_, [length](GcmCase& bad) {
            bad.tag.resize(length);
            bad.tag.back() ^= 1;
        });
    }
}

TEST_P(GcmMessage, WithoutATagItIsRefused) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 0, 50);
    const Key key = make_key(c.key);
    for (const warpaes_direction direction : directions) {
        PoisonedBuffer output(50);
        Call message = gcm_message(c, key, direction, c.text.data(), output.data(), nullptr);
        message.aad = nullptr;
        message.aad_len = message.tag_len = 0;
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(std::string(warpaes_last_error()).find("tag"), 0U) << warpaes_last_error();
        EXPECT_TRUE(output.intact_after(0));
    }
}

TEST_P(GcmMessage, WhatWasAlteredIsRefusedAndWiped) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 2);
    for (const std::size_t length : {1U, 40U, 5000U}) {
        const GcmCase c = make_gcm_case(random_, 32, 16, 24, length);
        for (const bool cut : {false, true}) {
            const Engine& engine = cut ? small_chunks : engine_;
            for (std::size_t bit = 0; bit < 128; bit += simulated() ? 13 : 1) {
                expect_refused("bit " + std::to_string(bit) + " of the tag", c, engine,
                               [bit](GcmCase& bad) { bad.tag[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8); });
            }
            for (int i = 0; i < 8; ++i) {
                expect_refused("the ciphertext", c, engine,
                               [this](GcmCase& bad) { bad.sealed[random_.below(bad.sealed.size())] ^= 0x20; });
            }
            expect_refused("the associated data", c, engine, [](GcmCase& bad) { bad.aad[7] ^= 1; });
            expect_refused("shorter associated data", c, engine, [](GcmCase& bad) { bad.aad.pop_back(); });
            expect_refused("a zero after the associated data", c, engine, [](GcmCase& bad) { bad.aad.push_back(0); });
            expect_refused("the IV", c, engine, [](GcmCase& bad) { bad.iv[0] ^= 1; });
            expect_refused("the key", c, engine, [](GcmCase& bad) { bad.key[31] ^= 1; });
        }
    }
    expect_refused("the tag of nothing", make_gcm_case(random_, 16, 12, 0, 0), engine_,
                   [](GcmCase& bad) { bad.tag[15] ^= 0x80; });
}

// Tests a message that is so long that CPUs use non-temporal stores and each thread wipes its own chunks.
TEST_P(GcmMessage, LongerThanTheCaches) {
    const std::size_t length = (simulated() ? std::size_t{64} << 10 : std::size_t{33} << 20) + 37;
    const GcmCase c = make_gcm_case(random_, 16, 12, 20, length);
    for (const auto& [chunk_bytes, threads] : {std::pair{0U, 2U}, std::pair{65536U, 5U}}) {
        const Engine engine = make_engine(GetParam(), chunk_bytes, threads);
        check(c, engine);
        for (const std::size_t at : {std::size_t{5}, length / 2, length - 1}) {
            expect_refused("byte " + std::to_string(at), c, engine, [at](GcmCase& bad) { bad.sealed[at] ^= 4; });
        }
    }
    const GcmCase other = make_gcm_case(random_, 32, 16, 0, length);  // with a 16-byte IV, the counters are secret
    check(other, make_engine(GetParam(), 65536, 2));
}

/// Messages with overlapping parts are processed by separate code. In this test, the tag lies in the ciphertext.
TEST_P(GcmMessage, ATagWithinTheInputIsRefusedAndNothingLeft) {
    for (const std::size_t length : {40U, 5000U, 20000U}) {
        const GcmCase c = make_gcm_case(random_, 32, 12, 24, length);
        const Key key = make_key(c.key);
        PoisonedBuffer output(length);
        Call message = gcm_message(c, key, WARPAES_DECRYPT, c.sealed.data(), output.data(), nullptr);
        message.tag = const_cast<std::uint8_t*>(c.sealed.data() + 8);
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION) << warpaes_last_error();
        EXPECT_EQ(output.bytes(length), Bytes(length, 0)) << "plaintext remains";
        EXPECT_TRUE(output.intact_after(length));
    }
}

// ------------------------------------------------------------------------------------------------------------- errors

class GcmErrors : public BackendTest {
protected:
    void SetUp() override {
        BackendTest::SetUp();
        key_ = make_key(case_.key);
    }

    void expect_refused(const std::string& what, warpaes_status status, const std::string& named,
                        const std::function<void(warpaes_message&)>& change) {
        SCOPED_TRACE(what);
        for (const warpaes_direction direction : directions) {
            PoisonedBuffer output(64), tag(16);
            Call message = gcm_message(case_, key_, direction, case_.text.data(), output.data(), tag.data());
            change(message);
            EXPECT_EQ(crypt(engine_, message), status) << warpaes_last_error();
            EXPECT_NE(std::string(warpaes_last_error()).find(named), std::string::npos) << warpaes_last_error();
            EXPECT_TRUE(output.intact_after(0) && tag.intact_after(0)) << "something was touched";
        }
    }

    Random random_{32};
    GcmCase case_ = make_gcm_case(random_, 16, 12, 20, 64);
    Key key_;
};

TEST_P(GcmErrors, Refused) {
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    expect_refused("no IV", WARPAES_ERROR_IV_LENGTH, "iv", [](warpaes_message& m) { m.iv_len = 0; });
    expect_refused("an IV of 2^61", WARPAES_ERROR_IV_LENGTH, "iv",
                   [](warpaes_message& m) { m.iv_len = std::uint64_t{1} << 61; });
    expect_refused("iv null", WARPAES_ERROR_ARGUMENT, "iv", [](warpaes_message& m) { m.iv = nullptr; });
    expect_refused("aad null", WARPAES_ERROR_ARGUMENT, "aad", [](warpaes_message& m) { m.aad = nullptr; });
    expect_refused("aad of 2^61", WARPAES_ERROR_DATA_LENGTH, "aad_len",
                   [](warpaes_message& m) { m.aad_len = std::uint64_t{1} << 61; });
    expect_refused("tag null", WARPAES_ERROR_ARGUMENT, "tag", [](warpaes_message& m) { m.tag = nullptr; });
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{7}, std::uint64_t{9},
          std::uint64_t{11}, std::uint64_t{17}, std::uint64_t{32}, huge}) {
        expect_refused("tag_len " + std::to_string(length), WARPAES_ERROR_ARGUMENT, "tag_len",
                       [length](warpaes_message& m) { m.tag_len = length; });
    }
    for (const std::uint64_t length : {(std::uint64_t{1} << 36) - 31, std::uint64_t{1} << 40, huge}) {
        expect_refused("input_len " + std::to_string(length), WARPAES_ERROR_DATA_LENGTH, "input_len",
                       [length](warpaes_message& m) { m.input_len = m.output_capacity = length; });
    }
    expect_refused("no room", WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity",
                   [](warpaes_message& m) { m.output_capacity = 63; });
    expect_refused("padding", WARPAES_ERROR_ARGUMENT, "flags", [](warpaes_message& m) { m.flags = WARPAES_PKCS7; });
    expect_refused("bits", WARPAES_ERROR_ARGUMENT, "flags",
                   [](warpaes_message& m) { m.flags = WARPAES_LENGTH_IN_BITS; });
    expect_refused("a range", WARPAES_ERROR_RANGE, "range", [](warpaes_message& m) {
        m.flags = WARPAES_RANGE;
        m.range_len = 16;
    });
    expect_refused("associated data of CTR", WARPAES_ERROR_ARGUMENT, "aad", [](warpaes_message& m) {
        m.mode = WARPAES_CTR;
        m.iv_len = 16;
        m.iv = static_cast<const std::uint8_t*>(m.input);
    });
}

TEST_P(GcmErrors, Overlap) {
    for (const std::ptrdiff_t distance : {-63, -16, -1, 1, 16, 63}) {
        for (const warpaes_direction direction : directions) {
            PoisonedBuffer buffer(256), tag(16);
            std::uint8_t* in = buffer.data() + 96;
            Call message = gcm_message(case_, key_, direction, in, in + distance, tag.data());
            EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP) << distance;
            EXPECT_TRUE(buffer.intact_after(0) && tag.intact_after(0));
        }
    }
    PoisonedBuffer buffer(128);
    for (const std::size_t at : {32U, 95U, 17U}) {
        Call message =
            gcm_message(case_, key_, WARPAES_ENCRYPT, case_.text.data(), buffer.data() + 32, buffer.data() + at);
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP) << at;
        EXPECT_TRUE(buffer.intact_after(0));
    }
    // The tag directly follows the ciphertext, which is the usual layout.
    Call message = gcm_message(case_, key_, WARPAES_ENCRYPT, case_.text.data(), buffer.data(), buffer.data() + 64);
    EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
    message = gcm_message(case_, key_, WARPAES_DECRYPT, buffer.data(), buffer.data(), buffer.data() + 64);
    EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(buffer.bytes(64), case_.text);
}

TEST_P(GcmErrors, AsynchronousCallsTakeDeviceMemory) {
    PoisonedBuffer output(64), tag(16);
    Call message = gcm_message(case_, key_, WARPAES_ENCRYPT, case_.text.data(), output.data(), tag.data());
    EXPECT_EQ(crypt_async(engine_, message), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("input"), std::string::npos) << warpaes_last_error();
    EXPECT_TRUE(output.intact_after(0) && tag.intact_after(0));
}

WARPAES_FOR_EVERY_BACKEND(GcmMessage);
WARPAES_FOR_EVERY_BACKEND(GcmErrors);

}  // namespace
}  // namespace abi_tests
