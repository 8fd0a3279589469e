// Compares CCM and CMAC messages in one call with libcrypto.
#include <gtest/gtest.h>

#include <functional>

#include "device.hpp"
#include "evp_oracle.hpp"

namespace abi_tests {
namespace {

/// A message with its expected result.
struct MacInput {
    warpaes_mode mode;
    Bytes key{}, iv{}, aad{}, text{};
    Bytes sealed{}, tag{};
};

MacInput make_case(Random& random, warpaes_mode mode, std::size_t key_bytes, std::size_t text_bytes,
                   std::size_t tag_bytes = 16, std::size_t iv_bytes = 12, std::size_t aad_bytes = 13) {
    MacInput c{.mode = mode, .key = random.bytes(key_bytes), .text = random.bytes(text_bytes)};
    if (mode == WARPAES_CMAC) {
        c.sealed = c.text;
        c.tag = oracle::evp_cmac(c.key, c.text);
        c.tag.resize(tag_bytes);
        return c;
    }
    c.iv = random.bytes(iv_bytes);
    c.aad = random.bytes(aad_bytes);
    const Bytes both = oracle::evp_ccm(c.key, c.iv, c.text, c.aad, tag_bytes);
    c.sealed.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(text_bytes));
    c.tag.assign(both.begin() + static_cast<std::ptrdiff_t>(text_bytes), both.end());
    return c;
}

Call message_of(const MacInput& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                void* tag) {
    Call m = make_message(c.mode, direction, key, c.iv, input, c.text.size(), output, c.text.size());
    m.iv_len = c.iv.size();
    m.aad = c.aad.data();
    m.aad_len = c.aad.size();
    m.tag = tag;
    m.tag_len = c.tag.size();
    if (c.mode == WARPAES_CMAC) {
        m.output = nullptr;
        m.output_capacity = 0;
    }
    return m;
}

class MacMessage : public BackendTest {
protected:
    /// Seals and opens the message, in place and with separate buffers.
    void check(const MacInput& c) {
        const std::size_t n = c.text.size(), written = c.mode == WARPAES_CMAC ? 0 : n;
        SCOPED_TRACE((c.mode == WARPAES_CCM ? "CCM, " : "CMAC, ") + std::to_string(8 * c.key.size()) + " bits, iv " +
                     std::to_string(c.iv.size()) + ", aad " + std::to_string(c.aad.size()) + ", text " +
                     std::to_string(n) + ", tag " + std::to_string(c.tag.size()));
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            const Bytes& input = encrypt ? c.text : c.sealed;
            for (const bool in_place : {false, true}) {
                PoisonedBuffer output(n, random_.below(33)), tag(16, 3);
                if (in_place) output.assign(input);
                if (!encrypt) tag.assign(c.tag);
                Call m =
                    message_of(c, key, direction, in_place ? output.data() : input.data(), output.data(), tag.data());
                ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(m.result.output_len, written);
                ASSERT_STREQ(m.result.backend, GetParam().c_str());
                if (written != 0) {
                    ASSERT_TRUE(output.bytes(n) == (encrypt ? c.sealed : c.text));
                }
                ASSERT_EQ(tag.bytes(c.tag.size()), c.tag);
                ASSERT_TRUE(output.intact_after(in_place ? n : written)) << "wrote outside";
                ASSERT_TRUE(tag.intact_after(c.tag.size())) << "wrote more than the tag";
            }
        }
    }

    Random random_{61};
};

TEST_P(MacMessage, LengthsRoundEveryBorder) {
    for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 63U, 64U, 65U, 255U, 256U, 4095U, 4096U, 4113U}) {
        for (const std::size_t key_bytes : {16U, 24U, 32U}) {
            check(make_case(random_, WARPAES_CCM, key_bytes, n));
            check(make_case(random_, WARPAES_CMAC, key_bytes, n));
        }
    }
    check(make_case(random_, WARPAES_CCM, 16, 65535, 16, 13));
}

TEST_P(MacMessage, EveryByteOfTheLengthIsAuthenticated) {
    // A length of 2^24 bytes or more is encoded in four bytes. If one of these bytes is missing, only the tag differs.
    const bool slow = simulated() && GetParam() == "cuda";
    const MacInput c = make_case(random_, WARPAES_CCM, 16, (1U << (slow ? 16 : 24)) + 1, 16, 11);
    const Key key = make_key(c.key);
    Bytes output(c.text.size()), tag(c.tag.size());
    Call m = message_of(c, key, WARPAES_ENCRYPT, c.text.data(), output.data(), tag.data());
    ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
    EXPECT_TRUE(output == c.sealed);
    EXPECT_EQ(tag, c.tag);
}

TEST_P(MacMessage, EveryIvTagAndAssociatedData) {
    for (std::size_t iv = 7; iv <= 13; ++iv) check(make_case(random_, WARPAES_CCM, 16, 70, 16, iv));
    for (std::size_t tag = 4; tag <= 16; tag += 2) check(make_case(random_, WARPAES_CCM, 16, 70, tag));
    for (std::size_t tag = 4; tag <= 16; ++tag) check(make_case(random_, WARPAES_CMAC, 16, 70, tag));
    for (const std::size_t aad : {0U, 1U, 14U, 15U, 110U, 111U, 1000U, 65279U, 65280U}) {
        check(make_case(random_, WARPAES_CCM, 32, 20, 8, 11, aad));
    }
}

TEST_P(MacMessage, NonceOrAssociatedDataLieInTheOutput) {
    for (const std::size_t length : {100U, 6000U}) {
        const MacInput c = make_case(random_, WARPAES_CCM, 16, length, 16, 11, 20);
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            for (const bool iv : {false, true}) {
                PoisonedBuffer output(length);
                std::copy(c.aad.begin(), c.aad.end(), output.data() + 5);
                std::copy(c.iv.begin(), c.iv.end(), output.data() + 50);
                Bytes tag = c.tag;
                warpaes_message m =
                    message_of(c, key, direction, (encrypt ? c.text : c.sealed).data(), output.data(), tag.data());
                if (iv) {
                    m.iv = output.data() + 50;
                } else {
                    m.aad = output.data() + 5;
                }
                ASSERT_EQ(warpaes_crypt(engine_.get(), &m, nullptr), WARPAES_OK) << warpaes_last_error();
                ASSERT_TRUE(output.bytes(length) == (encrypt ? c.sealed : c.text));
                ASSERT_EQ(tag, c.tag);
            }
        }
    }
}

TEST_P(MacMessage, WhatWasAlteredIsRefusedAndWiped) {
    for (const warpaes_mode mode : {WARPAES_CCM, WARPAES_CMAC}) {
        for (int what = 0; what < 4; ++what) {
            MacInput c = make_case(random_, mode, 16, 100, 12);
            if (mode == WARPAES_CMAC && (what == 1 || what == 2)) continue;
            (what == 0 ? c.tag[11] : what == 1 ? c.aad[3] : what == 2 ? c.iv[0] : c.sealed[99]) ^= 1;
            const Key key = make_key(c.key);
            for (const bool in_place : {false, true}) {
                PoisonedBuffer output(100);
                output.assign(in_place ? c.sealed : random_.bytes(100));
                const Bytes before = output.bytes(100);
                Call m = message_of(c, key, WARPAES_DECRYPT, in_place ? output.data() : c.sealed.data(), output.data(),
                                    c.tag.data());
                EXPECT_EQ(crypt(engine_, m), WARPAES_ERROR_AUTHENTICATION);
                EXPECT_EQ(m.result.output_len, 0U);
                EXPECT_EQ(output.bytes(100), mode == WARPAES_CCM ? Bytes(100, 0) : before);
                EXPECT_TRUE(output.intact_after(100));
            }
        }
    }
}

TEST_P(MacMessage, WhatCannotBeIsRefusedWithASentence) {
    const auto expect = [&](warpaes_status status, const std::string& about, warpaes_mode mode,
                            const std::function<void(warpaes_message&)>& change) {
        const MacInput c = make_case(random_, mode, 16, 32);
        const Key key = make_key(c.key);
        Bytes output(32), tag(16);
        Call m = message_of(c, key, WARPAES_ENCRYPT, c.text.data(), output.data(), tag.data());
        change(m);
        EXPECT_EQ(crypt(engine_, m), status);
        EXPECT_EQ(std::string(warpaes_last_error()).rfind(about + ": ", 0), 0U) << warpaes_last_error();
        EXPECT_EQ(output, Bytes(32, 0));
        EXPECT_EQ(tag, Bytes(16, 0));
    };
    expect(WARPAES_ERROR_IV_LENGTH, "iv", WARPAES_CCM, [](warpaes_message& m) { m.iv_len = 6; });
    const auto said = [](const char* words) {
        EXPECT_NE(std::string(warpaes_last_error()).find(words), std::string::npos) << warpaes_last_error();
    };
    expect(WARPAES_ERROR_ARGUMENT, "tag_len", WARPAES_CCM, [](warpaes_message& m) { m.tag_len = 5; });
    said("must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM");
    expect(WARPAES_ERROR_ARGUMENT, "tag_len", WARPAES_CCM, [](warpaes_message& m) { m.tag_len = 0; });
    expect(WARPAES_ERROR_ARGUMENT, "tag", WARPAES_CCM, [](warpaes_message& m) { m.tag = nullptr; });
    expect(WARPAES_ERROR_OVERLAP, "tag", WARPAES_CCM, [](warpaes_message& m) { m.tag = m.output; });
    expect(WARPAES_ERROR_ARGUMENT, "aad", WARPAES_CCM, [](warpaes_message& m) { m.aad = nullptr; });
    expect(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity", WARPAES_CCM,
           [](warpaes_message& m) { m.output_capacity = 31; });
    expect(WARPAES_ERROR_RANGE, "range", WARPAES_CCM, [](warpaes_message& m) { m.flags = WARPAES_RANGE; });
    expect(WARPAES_ERROR_IV_LENGTH, "iv", WARPAES_CMAC, [](warpaes_message& m) {
        m.iv = static_cast<const std::uint8_t*>(m.input);
        m.iv_len = 16;
    });
    expect(WARPAES_ERROR_ARGUMENT, "tag_len", WARPAES_CMAC, [](warpaes_message& m) { m.tag_len = 3; });
    said("must be 4 to 16 bytes for CMAC");
    expect(WARPAES_ERROR_ARGUMENT, "aad_len", WARPAES_CMAC, [](warpaes_message& m) {
        m.aad = m.input;
        m.aad_len = 1;
    });

    const MacInput longer = make_case(random_, WARPAES_CCM, 16, 65536, 16, 12);
    const Key key = make_key(longer.key);
    const Bytes iv(13);
    Bytes output(65536), tag(16);
    Call m = message_of(longer, key, WARPAES_ENCRYPT, longer.text.data(), output.data(), tag.data());
    m.iv = iv.data();
    m.iv_len = 13;
    EXPECT_EQ(crypt(engine_, m), WARPAES_ERROR_DATA_LENGTH);
}

WARPAES_FOR_EVERY_BACKEND(MacMessage);

class MacDevice : public DeviceTest {};

TEST_P(MacDevice, DataInDeviceMemory) {
    for (const warpaes_mode mode : {WARPAES_CCM, WARPAES_CMAC}) {
        for (const std::size_t n : {0U, 5U, 16U, 1000U}) {
            MacInput c = make_case(random_, mode, 16, n);
            const Key key = make_key(c.key);
            for (const bool right : {true, false}) {
                const Buffer input = on_device(c.sealed, 1), output = allocate(n);
                Bytes tag = c.tag;
                if (!right) tag[0] ^= 1;
                Call m = message_of(c, key, WARPAES_DECRYPT, input.data(), output.data(), tag.data());
                EXPECT_EQ(crypt(engine_, m), right ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION) << warpaes_last_error();
                if (mode == WARPAES_CCM) {
                    EXPECT_EQ(read(output, n), right ? c.text : Bytes(n, 0));
                }
                if (n != 0) {
                    EXPECT_EQ(crypt_async(engine_, m), WARPAES_ERROR_ARGUMENT);
                }
            }
        }
    }
}

WARPAES_FOR_EVERY_DEVICE(MacDevice);

}  // namespace
}  // namespace abi_tests
