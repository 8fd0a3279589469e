// Tests CCM and CMAC in pieces. Any division gives the result of the whole message, and CCM's lengths must be as
// announced.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "device.hpp"
#include "evp_oracle.hpp"

namespace abi_tests {
namespace {

/// A message with its expected result.
struct MacCase {
    warpaes_mode mode;
    Bytes key_bytes{}, iv{}, aad{}, text{};
    Bytes sealed{}, tag{};
    Key key{};

    [[nodiscard]] warpaes_context_options options(warpaes_direction direction) const {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = mode;
        o.direction = direction;
        o.key = key.get();
        if (mode == WARPAES_CMAC) return o;
        o.iv = iv.data();
        o.iv_len = iv.size();
        o.text_len = text.size();
        o.aad_len = aad.size();
        o.tag_len = tag.size();
        return o;
    }
};

MacCase ccm_case(Random& random, std::size_t key_bytes, std::size_t text, std::size_t tag = 16, std::size_t iv = 12,
                 std::size_t aad = 13) {
    MacCase c{.mode = WARPAES_CCM,
              .key_bytes = random.bytes(key_bytes),
              .iv = random.bytes(iv),
              .aad = random.bytes(aad),
              .text = random.bytes(text)};
    const Bytes both = oracle::evp_ccm(c.key_bytes, c.iv, c.text, c.aad, tag);
    const auto end = both.begin() + static_cast<std::ptrdiff_t>(text);
    c.sealed.assign(both.begin(), end);
    c.tag.assign(end, both.end());
    c.key = make_key(c.key_bytes);
    return c;
}

MacCase cmac_case(Random& random, std::size_t key_bytes, std::size_t text, std::size_t tag = 16) {
    MacCase c{.mode = WARPAES_CMAC, .key_bytes = random.bytes(key_bytes), .text = random.bytes(text)};
    c.sealed = c.text;
    c.tag = oracle::evp_cmac(c.key_bytes, c.text);
    c.tag.resize(tag);
    c.key = make_key(c.key_bytes);
    return c;
}

class MacContext : public BackendTest {
protected:
    Context begin(const MacCase& c, warpaes_direction direction) {
        Context context = make_context(engine_);
        const warpaes_context_options options = c.options(direction);
        EXPECT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK) << warpaes_last_error();
        return context;
    }
    void add_aad(const Context& context, const Bytes& aad, std::size_t longest) {
        aad_in_pieces(context, random_, aad, longest);
    }
    /// Processes the message in pieces. CMAC has no output, so its output buffer must not be written.
    Bytes in_pieces(const Context& context, const MacCase& c, const Bytes& input, std::size_t longest, bool in_place) {
        const bool writes = c.mode == WARPAES_CCM;
        PoisonedBuffer output(input.size(), random_.below(17));
        if (in_place) output.assign(input);
        for (std::size_t at = 0; at < input.size();) {
            const std::size_t n = std::min(random_.below(longest + 1), input.size() - at);
            std::size_t written = 99;
            EXPECT_EQ(
                warpaes_context_update(context.get(), in_place ? output.data() + at : input.data() + at, n,
                                       writes || in_place ? output.data() + at : nullptr, writes ? n : 0, &written),
                WARPAES_OK)
                << warpaes_last_error();
            EXPECT_EQ(written, writes ? n : 0);
            at += n;
            EXPECT_TRUE(in_place || output.intact_after(writes ? at : 0)) << "wrote ahead";
        }
        EXPECT_TRUE(output.intact_after(input.size()));
        return writes || in_place ? output.bytes(input.size()) : input;
    }
    void check(const MacCase& c, std::size_t longest) {
        for (const bool in_place : {false, true}) {
            SCOPED_TRACE((c.mode == WARPAES_CCM ? "CCM, " : "CMAC, ") + std::to_string(8 * c.key_bytes.size()) +
                         " bits, iv " + std::to_string(c.iv.size()) + ", aad " + std::to_string(c.aad.size()) +
                         ", text " + std::to_string(c.text.size()) + ", tag " + std::to_string(c.tag.size()) +
                         ", pieces up to " + std::to_string(longest) + (in_place ? ", in place" : ""));
            const Context encrypt = begin(c, WARPAES_ENCRYPT);
            add_aad(encrypt, c.aad, longest);
            ASSERT_TRUE(in_pieces(encrypt, c, c.text, longest, in_place) == c.sealed);
            ASSERT_EQ(finish(encrypt), WARPAES_OK) << warpaes_last_error();
            PoisonedBuffer tag(16);
            ASSERT_EQ(warpaes_context_get_tag(encrypt.get(), tag.data(), c.tag.size()), WARPAES_OK);
            ASSERT_EQ(tag.bytes(c.tag.size()), c.tag);
            ASSERT_TRUE(tag.intact_after(c.tag.size()));

            const Context decrypt = begin(c, WARPAES_DECRYPT);
            if (in_place) {
                ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), c.tag.data(), c.tag.size()), WARPAES_OK);
            }
            add_aad(decrypt, c.aad, longest);
            ASSERT_TRUE(in_pieces(decrypt, c, c.sealed, longest, in_place) == c.text);
            ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), c.tag.data(), c.tag.size()), WARPAES_OK);
            ASSERT_EQ(finish(decrypt), WARPAES_OK) << warpaes_last_error();
        }
    }
    void expect(warpaes_status got, warpaes_status status, const std::string& words) {
        EXPECT_EQ(got, status) << words;
        EXPECT_NE(std::string(warpaes_last_error()).find(words), std::string::npos) << warpaes_last_error();
    }

    [[nodiscard]] bool slow() const { return simulated() && GetParam() == "cuda"; }

    Random random_{261};
};

TEST_P(MacContext, AnyPieces) {
    std::size_t turn = 0;
    for (const std::size_t longest : {1U, 5U, 15U, 16U, 17U, 40U, 1000U}) {
        for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 48U, 255U, 256U, 1000U}) {
            if (slow() && n > 5 * longest) continue;
            const std::size_t key_bytes = 16 + 8 * (turn++ % 3);
            check(ccm_case(random_, key_bytes, n, 16, 12, random_.below(3) * random_.below(50)), longest);
            check(cmac_case(random_, key_bytes, n), longest);
            if (HasFatalFailure()) return;
        }
    }
}

/// Tests pieces that are longer than one processing step.
TEST_P(MacContext, LongPieces) {
    const std::size_t length = slow() ? 40000 : 300000;
    for (const std::size_t longest : {length, std::size_t{33000}}) {
        check(ccm_case(random_, 16, length + 5, 16, 12, 100), longest);
        check(cmac_case(random_, 32, length), longest);
    }
}

TEST_P(MacContext, EveryIvTagAndAssociatedData) {
    for (std::size_t iv = 7; iv <= 13; ++iv) check(ccm_case(random_, 16, 70, 16, iv), 20);
    for (std::size_t tag = 4; tag <= 16; tag += 2) check(ccm_case(random_, 24, 70, tag), 20);
    for (std::size_t tag = 4; tag <= 16; ++tag) check(cmac_case(random_, 24, 70, tag), 20);
    for (const std::size_t aad : {0U, 1U, 13U, 14U, 15U, 16U, 30U, 31U, 1000U, 65279U, 65280U}) {
        check(ccm_case(random_, 32, 20, 8, 11, aad), aad > 1000 ? 20000 : 25);
        check(ccm_case(random_, 32, 0, 8, 11, aad), aad > 1000 ? 20000 : 25);
    }
}

TEST_P(MacContext, AnotherMessage) {
    MacCase c = ccm_case(random_, 16, 45);
    const Context context = begin(c, WARPAES_ENCRYPT);
    add_aad(context, c.aad, 5);
    Bytes ignored(10);
    std::size_t written = 0;
    ASSERT_EQ(warpaes_context_update(context.get(), c.text.data(), 10, ignored.data(), 10, &written), WARPAES_OK);
    for (int round = 0; round < 3; ++round) {
        c.iv = random_.bytes(7 + static_cast<std::size_t>(round));
        const Bytes both = oracle::evp_ccm(c.key_bytes, c.iv, c.text, c.aad, 16);
        ASSERT_EQ(warpaes_context_set_iv(context.get(), c.iv.data(), c.iv.size()), WARPAES_OK) << warpaes_last_error();
        add_aad(context, c.aad, 5);
        Bytes got = in_pieces(context, c, c.text, 20, false);
        ASSERT_EQ(finish(context), WARPAES_OK) << warpaes_last_error();
        got.resize(61);
        ASSERT_EQ(warpaes_context_get_tag(context.get(), got.data() + 45, 16), WARPAES_OK);
        EXPECT_EQ(got, both);
    }
    const MacCase mac = cmac_case(random_, 16, 45);
    const Context other = begin(mac, WARPAES_ENCRYPT);
    for (int round = 0; round < 3; ++round) {
        in_pieces(other, mac, round == 0 ? random_.bytes(21) : mac.text, 20, false);
        if (round == 0) {
            ASSERT_EQ(warpaes_context_set_iv(other.get(), nullptr, 0), WARPAES_OK);
            continue;
        }
        ASSERT_EQ(finish(other), WARPAES_OK);
        Bytes tag(16);
        ASSERT_EQ(warpaes_context_get_tag(other.get(), tag.data(), 16), WARPAES_OK);
        EXPECT_EQ(tag, mac.tag);
        ASSERT_EQ(warpaes_context_set_iv(other.get(), nullptr, 0), WARPAES_OK);
    }
}

TEST_P(MacContext, WhatWasAlteredIsRefusedInTheEnd) {
    for (const bool ccm : {true, false}) {
        for (int what = 0; what < 4; ++what) {
            if (!ccm && (what == 1 || what == 2)) continue;
            MacCase c = ccm ? ccm_case(random_, 16, 100, 12) : cmac_case(random_, 16, 100, 12);
            const Bytes right = c.tag;
            (what == 0 ? c.tag[11] : what == 1 ? c.aad[3] : what == 2 ? c.iv[0] : c.sealed[99]) ^= 1;
            const Context context = begin(c, WARPAES_DECRYPT);
            add_aad(context, c.aad, 10);
            in_pieces(context, c, c.sealed, 33, false);
            ASSERT_EQ(warpaes_context_set_tag(context.get(), c.tag.data(), 12), WARPAES_OK);
            EXPECT_EQ(finish(context), WARPAES_ERROR_AUTHENTICATION) << what;
            // The message has ended, so the caller cannot try a second tag.
            expect(warpaes_context_set_tag(context.get(), right.data(), 12), WARPAES_ERROR_STATE, "context");
            expect(finish(context), WARPAES_ERROR_STATE, "context");
        }
    }
}

TEST_P(MacContext, LengthsAreAsAnnounced) {
    const MacCase c = ccm_case(random_, 16, 40, 16, 12, 20);
    for (const warpaes_direction direction : directions) {
        const bool encrypt = direction == WARPAES_ENCRYPT;
        const Bytes& input = encrypt ? c.text : c.sealed;
        const Context context = begin(c, direction);
        PoisonedBuffer output(41);
        std::size_t written = 99;
        const auto update = [&](std::size_t at, std::size_t n) {
            return warpaes_context_update(context.get(), input.data() + at, n, output.data() + at, 41 - at, &written);
        };
        if (!encrypt) {
            ASSERT_EQ(warpaes_context_set_tag(context.get(), c.tag.data(), 16), WARPAES_OK);
        }
        expect(update(0, 1), WARPAES_ERROR_STATE, "aad_len");
        EXPECT_EQ(written, 0U);
        ASSERT_EQ(update(0, 0), WARPAES_OK) << "nothing is no text";
        ASSERT_EQ(warpaes_context_aad(context.get(), c.aad.data(), 19), WARPAES_OK);
        expect(update(0, 40), WARPAES_ERROR_STATE, "only 19 of 20 bytes");
        expect(finish(context), WARPAES_ERROR_STATE, "aad_len");
        expect(warpaes_context_aad(context.get(), c.aad.data(), 2), WARPAES_ERROR_DATA_LENGTH, "aad_len");
        expect(warpaes_context_aad(context.get(), nullptr, 1), WARPAES_ERROR_ARGUMENT, "aad: is null");
        ASSERT_EQ(warpaes_context_aad(context.get(), c.aad.data() + 19, 1), WARPAES_OK);
        expect(warpaes_context_aad(context.get(), c.aad.data(), 1), WARPAES_ERROR_DATA_LENGTH, "aad_len");
        EXPECT_TRUE(output.intact_after(0));

        const Bytes longer(41);
        EXPECT_EQ(warpaes_context_update(context.get(), longer.data(), 41, output.data(), 41, &written),
                  WARPAES_ERROR_DATA_LENGTH);
        EXPECT_EQ(written, 0U);
        EXPECT_TRUE(output.intact_after(0));
        ASSERT_EQ(update(0, 39), WARPAES_OK) << warpaes_last_error();
        expect(warpaes_context_aad(context.get(), c.aad.data(), 1), WARPAES_ERROR_STATE,
               "associated data comes before");
        expect(finish(context), WARPAES_ERROR_DATA_LENGTH, "39 of the 40 bytes of text_len");
        expect(warpaes_context_update(context.get(), input.data(), 2, output.data() + 39, 2, &written),
               WARPAES_ERROR_DATA_LENGTH, "text_len");
        // None of the preceding errors affects the message.
        ASSERT_EQ(update(39, 1), WARPAES_OK) << warpaes_last_error();
        ASSERT_EQ(finish(context), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(output.bytes(40), encrypt ? c.sealed : c.text);
        EXPECT_TRUE(output.intact_after(40));
        if (!encrypt) continue;
        Bytes tag(16);
        ASSERT_EQ(warpaes_context_get_tag(context.get(), tag.data(), 16), WARPAES_OK);
        EXPECT_EQ(tag, c.tag);
    }
}

TEST_P(MacContext, WhatCannotBeIsRefused) {
    const MacCase ccm = ccm_case(random_, 16, 40), cmac = cmac_case(random_, 16, 40);
    const Context context = make_context(engine_);
    const auto refused = [&](const MacCase& c, warpaes_status status, const std::string& words, auto change) {
        warpaes_context_options o = c.options(WARPAES_ENCRYPT);
        change(o);
        EXPECT_EQ(warpaes_context_init(context.get(), &o), status) << words;
        EXPECT_EQ(std::string(warpaes_last_error()).find(words), 0U) << warpaes_last_error();
    };
    for (const std::uint64_t length : {0U, 6U, 14U, 16U}) {
        refused(ccm, WARPAES_ERROR_IV_LENGTH, "iv", [&](auto& o) { o.iv_len = length; });
    }
    for (const std::uint64_t length : {0U, 2U, 5U, 15U, 17U, 18U}) {
        refused(ccm, WARPAES_ERROR_ARGUMENT, "tag_len", [&](auto& o) { o.tag_len = length; });
    }
    const Bytes longer_iv(13);
    refused(ccm, WARPAES_ERROR_DATA_LENGTH, "text_len", [&](auto& o) {
        o.iv = longer_iv.data();
        o.iv_len = 13;
        o.text_len = 65536;
    });
    refused(ccm, WARPAES_ERROR_DATA_LENGTH, "text_len", [](auto& o) { o.text_len = UINT64_MAX; });
    refused(ccm, WARPAES_ERROR_DATA_LENGTH, "aad_len", [](auto& o) { o.aad_len = UINT64_MAX; });
    refused(ccm, WARPAES_ERROR_ARGUMENT, "flags", [](auto& o) { o.flags = WARPAES_PKCS7; });
    refused(ccm, WARPAES_ERROR_ARGUMENT, "tweak_key", [](auto& o) { o.tweak_key = o.key; });
    refused(cmac, WARPAES_ERROR_IV_LENGTH, "iv", [&](auto& o) {
        o.iv = longer_iv.data();
        o.iv_len = 13;
    });
    refused(cmac, WARPAES_ERROR_ARGUMENT, "text_len, aad_len, tag_len", [](auto& o) { o.tag_len = 16; });
    refused(cmac, WARPAES_ERROR_ARGUMENT, "tweak_key, data_unit_len", [](auto& o) { o.data_unit_len = 16; });

    Bytes tag(17), out(64);
    std::size_t written = 0;
    for (const MacCase* c : {&ccm, &cmac}) {
        const Context encrypt = begin(*c, WARPAES_ENCRYPT), decrypt = begin(*c, WARPAES_DECRYPT);
        expect(warpaes_context_get_tag(encrypt.get(), tag.data(), 16), WARPAES_ERROR_STATE, "after final");
        expect(warpaes_context_set_tag(encrypt.get(), tag.data(), 16), WARPAES_ERROR_STATE, "context");
        expect(warpaes_context_get_tag(decrypt.get(), tag.data(), 16), WARPAES_ERROR_STATE, "context");
        expect(finish(decrypt), WARPAES_ERROR_STATE, "set_tag");
        for (const std::size_t length : {0U, 3U, 17U}) {
            expect(warpaes_context_set_tag(decrypt.get(), tag.data(), length), WARPAES_ERROR_ARGUMENT, "tag");
        }
        expect(warpaes_context_set_tag(decrypt.get(), nullptr, 16), WARPAES_ERROR_ARGUMENT, "tag: is null");
        expect(warpaes_context_update(encrypt.get(), nullptr, 1, out.data(), 64, &written), WARPAES_ERROR_ARGUMENT,
               "input: is null");
        EXPECT_EQ(warpaes_context_seek(encrypt.get(), 0), WARPAES_ERROR_RANGE);
    }
    const Context told = begin(ccm, WARPAES_DECRYPT), mac = begin(cmac, WARPAES_ENCRYPT);
    expect(warpaes_context_set_tag(told.get(), tag.data(), 12), WARPAES_ERROR_ARGUMENT, "tag_len is 16");
    add_aad(told, ccm.aad, 20);
    expect(warpaes_context_update(told.get(), ccm.sealed.data(), 40, out.data(), 39, &written),
           WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity");
    EXPECT_EQ(written, 40U);
    expect(warpaes_context_update(told.get(), out.data(), 40, out.data() + 1, 40, &written), WARPAES_ERROR_OVERLAP,
           "output");
    expect(warpaes_context_aad(mac.get(), tag.data(), 1), WARPAES_ERROR_STATE, "CMAC has no associated data");
}

WARPAES_FOR_EVERY_BACKEND(MacContext);

class MacContextDevice : public DeviceTest {
protected:
    void check(const MacCase& c, std::size_t longest) {
        const Buffer aad = on_device(c.aad, 3);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT, writes = c.mode == WARPAES_CCM;
            for (const bool in_place : {false, true}) {
                SCOPED_TRACE(std::to_string(c.text.size()) + (writes ? " of CCM" : " of CMAC") +
                             (encrypt ? "" : ", decryption") + (in_place ? ", in place" : ""));
                const Buffer in = on_device(encrypt ? c.text : c.sealed, 9), apart = allocate(c.text.size(), 2);
                const Buffer& out = in_place ? in : apart;
                const Context context = make_context(engine_);
                const warpaes_context_options options = c.options(direction);
                ASSERT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK) << warpaes_last_error();
                for (std::size_t at = 0; at < c.aad.size(); at += 10) {
                    const std::size_t n = std::min<std::size_t>(10, c.aad.size() - at);
                    ASSERT_EQ(warpaes_context_aad(context.get(), aad.data() + at, n), WARPAES_OK);
                }
                std::size_t written = 99;
                for (std::size_t at = 0; at < c.text.size();) {
                    const std::size_t n = std::min(random_.below(longest) + 1, c.text.size() - at);
                    ASSERT_EQ(warpaes_context_update(context.get(), in.data() + at, n,
                                                     writes ? out.data() + at : nullptr, writes ? n : 0, &written),
                              WARPAES_OK)
                        << warpaes_last_error();
                    ASSERT_EQ(written, writes ? n : 0);
                    at += n;
                }
                Bytes tag = c.tag;
                if (!encrypt) {
                    ASSERT_EQ(warpaes_context_set_tag(context.get(), tag.data(), tag.size()), WARPAES_OK);
                }
                ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK)
                    << warpaes_last_error();
                if (encrypt) {
                    ASSERT_EQ(warpaes_context_get_tag(context.get(), tag.data(), tag.size()), WARPAES_OK);
                }
                EXPECT_EQ(tag, c.tag);
                if (writes) {
                    EXPECT_TRUE(read(out, c.text.size()) == (encrypt ? c.sealed : c.text));
                } else {
                    read(apart, 0);
                }
            }
        }
    }
};

TEST_P(MacContextDevice, PiecesInDeviceMemory) {
    for (const std::size_t n : {0U, 1U, 16U, 17U, 500U}) {
        check(ccm_case(random_, 16, n, 16, 12, 21), 100);
        check(cmac_case(random_, 24, n), 100);
    }
}

/// Tests a text that is longer than the pieces in which the library fetches text from the device.
TEST_P(MacContextDevice, MoreThanAMebibyte) {
    const std::size_t length = (std::size_t{1} << 20) + 33;
    const MacCase c = cmac_case(random_, 16, length);
    const Buffer in = on_device(c.text);
    const Context context = make_context(engine_);
    const warpaes_context_options options = c.options(WARPAES_ENCRYPT);
    ASSERT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK) << warpaes_last_error();
    std::size_t written = 99;
    ASSERT_EQ(warpaes_context_update(context.get(), in.data(), length, nullptr, 0, &written), WARPAES_OK);
    ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK);
    Bytes tag(16);
    ASSERT_EQ(warpaes_context_get_tag(context.get(), tag.data(), 16), WARPAES_OK);
    EXPECT_EQ(tag, c.tag);
}

WARPAES_FOR_EVERY_DEVICE(MacContextDevice);

}  // namespace
}  // namespace abi_tests
