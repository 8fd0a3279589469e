// Tests AES-GCM in pieces. Any division of the text and the associated data gives the result of the whole message.
#include <gtest/gtest.h>

#include <algorithm>

#include "gcm.hpp"

namespace abi_tests {
namespace {

class GcmContext : public BackendTest {
protected:
    Context begin(const GcmCase& c, warpaes_direction direction) { return begin(c, direction, engine_); }
    Context begin(const GcmCase& c, warpaes_direction direction, const Engine& engine) {
        keys_.push_back(make_key(c.key));
        Context context = make_context(engine);
        EXPECT_EQ(context_init(context.get(), WARPAES_GCM, direction, keys_.back().get(), c.iv.data(), c.iv.size(), 0),
                  WARPAES_OK)
            << warpaes_last_error();
        return context;
    }

    void aad_in_pieces(const Context& context, const Bytes& bytes, std::size_t longest) {
        abi_tests::aad_in_pieces(context, random_, bytes, longest);
    }
    Bytes in_pieces(const Context& context, const Bytes& input, std::size_t longest, bool in_place = false) {
        PoisonedBuffer output(input.size(), random_.below(17));
        if (in_place) output.assign(input);
        for (std::size_t at = 0; at < input.size();) {
            const std::size_t n = std::min(random_.below(longest + 1), input.size() - at);
            std::size_t written = 99;
            EXPECT_EQ(warpaes_context_update(context.get(), in_place ? output.data() + at : input.data() + at, n,
                                             output.data() + at, n, &written),
                      WARPAES_OK)
                << warpaes_last_error();
            EXPECT_EQ(written, n);
            EXPECT_TRUE(in_place || output.intact_after(at + n)) << "wrote ahead";
            at += n;
        }
        EXPECT_TRUE(output.intact_after(input.size()));
        return output.bytes(input.size());
    }
    Bytes tag_of(const Context& context, std::size_t length = 16) {
        Bytes tag(length);
        EXPECT_EQ(warpaes_context_get_tag(context.get(), tag.data(), length), WARPAES_OK) << warpaes_last_error();
        return tag;
    }

    void expect_state_error(warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_STATE);
        EXPECT_NE(std::string(warpaes_last_error()).find("context"), std::string::npos) << warpaes_last_error();
    }

    Random random_{41};
    std::vector<Key> keys_;  ///< a context keeps its key alive
};

TEST_P(GcmContext, AnyPieces) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 2);
    for (const std::size_t longest : {1U, 5U, 16U, 17U, 40U, 300U, 20000U}) {
        for (const std::size_t length : {0U, 1U, 16U, 100U, 1000U, 30000U}) {
            if (length > 500 * longest || (simulated() && length > 50 * longest)) continue;
            for (const bool cut : {false, true}) {
                SCOPED_TRACE(std::to_string(length) + " in pieces of up to " + std::to_string(longest));
                const std::size_t aad_bytes = random_.below(3) * random_.below(2 * length + 40);
                const GcmCase c =
                    make_gcm_case(random_, 16 + 8 * random_.below(3), 12 + random_.below(2) * 5, aad_bytes, length);
                const Engine& engine = cut ? small_chunks : engine_;
                const Context encrypt = begin(c, WARPAES_ENCRYPT, engine);
                aad_in_pieces(encrypt, c.aad, longest);
                ASSERT_EQ(in_pieces(encrypt, c.text, longest), c.sealed);
                ASSERT_EQ(finish(encrypt), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(tag_of(encrypt), c.tag);

                const Context decrypt = begin(c, WARPAES_DECRYPT, engine);
                aad_in_pieces(decrypt, c.aad, longest);
                ASSERT_EQ(in_pieces(decrypt, c.sealed, longest, true), c.text);
                ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), c.tag.data(), 16), WARPAES_OK);
                ASSERT_EQ(finish(decrypt), WARPAES_OK) << warpaes_last_error();
            }
        }
    }
}

TEST_P(GcmContext, ACopyGoesOnByItself) {
    const GcmCase c = make_gcm_case(random_, 32, 12, 21, 333);
    for (const std::size_t at : {0U, 5U, 16U, 100U}) {
        const Context first = begin(c, WARPAES_ENCRYPT);
        aad_in_pieces(first, c.aad, 30);
        const auto middle = c.text.begin() + static_cast<std::ptrdiff_t>(at);
        Bytes sealed = in_pieces(first, Bytes(c.text.begin(), middle), 50);
        warpaes_context* copied = nullptr;
        ASSERT_EQ(warpaes_context_copy(first.get(), &copied), WARPAES_OK);
        const Context copy(copied);
        // The first context continues with different data.
        in_pieces(first, random_.bytes(77), 50);
        ASSERT_EQ(finish(first), WARPAES_OK);
        const Bytes rest = in_pieces(copy, Bytes(middle, c.text.end()), 50);
        sealed.insert(sealed.end(), rest.begin(), rest.end());
        ASSERT_EQ(finish(copy), WARPAES_OK);
        EXPECT_EQ(sealed, c.sealed);
        EXPECT_EQ(tag_of(copy), c.tag);
        EXPECT_NE(tag_of(first), c.tag);
    }
}

TEST_P(GcmContext, AnotherMessage) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 21, 70);
    const Context context = begin(c, WARPAES_ENCRYPT);
    in_pieces(context, random_.bytes(19), 7);
    for (const std::size_t iv_bytes : {12U, 12U, 7U}) {
        GcmCase next = make_gcm_case(random_, 16, iv_bytes, 9, 45);
        keys_.push_back(make_key(next.key));
        ASSERT_EQ(
            context_init(context.get(), WARPAES_GCM, WARPAES_ENCRYPT, keys_.back().get(), c.iv.data(), c.iv.size(), 0),
            WARPAES_OK);
        in_pieces(context, random_.bytes(3), 7);
        ASSERT_EQ(warpaes_context_set_iv(context.get(), next.iv.data(), next.iv.size()), WARPAES_OK);
        aad_in_pieces(context, next.aad, 5);
        EXPECT_EQ(in_pieces(context, next.text, 30), next.sealed);
        ASSERT_EQ(finish(context), WARPAES_OK);
        EXPECT_EQ(tag_of(context), next.tag);
    }
    EXPECT_EQ(warpaes_context_set_iv(context.get(), nullptr, 0), WARPAES_ERROR_IV_LENGTH);
    EXPECT_EQ(tag_of(context).size(), 16U) << "a failed call changes nothing";
}

TEST_P(GcmContext, ShorterTags) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 0, 40);
    for (const std::size_t length : {4U, 8U, 12U, 13U, 14U, 15U, 16U}) {
        const Context encrypt = begin(c, WARPAES_ENCRYPT);
        in_pieces(encrypt, c.text, 40);
        ASSERT_EQ(finish(encrypt), WARPAES_OK);
        const Bytes tag(c.tag.begin(), c.tag.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_EQ(tag_of(encrypt, length), tag);
        for (const bool wrong : {false, true}) {
            const Context decrypt = begin(c, WARPAES_DECRYPT);
            Bytes expected_tag = tag;
            if (wrong) expected_tag.back() ^= 0x40;
            ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), expected_tag.data(), length), WARPAES_OK);
            in_pieces(decrypt, c.sealed, 40);
            EXPECT_EQ(finish(decrypt), wrong ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
        }
    }
    Bytes tag(17);
    const Context encrypt = begin(c, WARPAES_ENCRYPT), decrypt = begin(c, WARPAES_DECRYPT);
    ASSERT_EQ(finish(encrypt), WARPAES_OK);
    for (const std::size_t length : {0U, 3U, 5U, 9U, 17U}) {
        EXPECT_EQ(warpaes_context_get_tag(encrypt.get(), tag.data(), length), WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(warpaes_context_set_tag(decrypt.get(), tag.data(), length), WARPAES_ERROR_ARGUMENT);
    }
    EXPECT_EQ(warpaes_context_get_tag(encrypt.get(), nullptr, 16), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_context_set_tag(decrypt.get(), nullptr, 16), WARPAES_ERROR_ARGUMENT);
}

TEST_P(GcmContext, WhatWasAlteredIsRefusedInTheEnd) {
    const GcmCase c = make_gcm_case(random_, 32, 12, 10, 100);
    for (int what = 0; what < 4; ++what) {
        GcmCase bad = c;
        if (what == 0) bad.tag[0] ^= 1;
        if (what == 1) bad.sealed[99] ^= 1;
        if (what == 2) bad.aad[9] ^= 1;
        if (what == 3) bad.iv[11] ^= 1;
        const Context context = begin(bad, WARPAES_DECRYPT);
        aad_in_pieces(context, bad.aad, 10);
        in_pieces(context, bad.sealed, 33);
        ASSERT_EQ(warpaes_context_set_tag(context.get(), bad.tag.data(), 16), WARPAES_OK);
        EXPECT_EQ(finish(context), WARPAES_ERROR_AUTHENTICATION) << what;
        // The message has ended, so the caller cannot try a second tag.
        expect_state_error(warpaes_context_set_tag(context.get(), c.tag.data(), 16));
        expect_state_error(finish(context));
    }
}

TEST_P(GcmContext, OutOfOrder) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 10, 50);
    Bytes tag(16), out(50);
    std::size_t written = 0;
    const Context fresh = make_context(engine_);
    expect_state_error(warpaes_context_aad(fresh.get(), c.aad.data(), 10));
    EXPECT_NE(std::string(warpaes_last_error()).find("not initialised"), std::string::npos) << warpaes_last_error();
    expect_state_error(warpaes_context_set_tag(fresh.get(), tag.data(), 16));
    expect_state_error(warpaes_context_get_tag(fresh.get(), tag.data(), 16));

    const Context encrypt = begin(c, WARPAES_ENCRYPT);
    expect_state_error(warpaes_context_get_tag(encrypt.get(), tag.data(), 16));
    expect_state_error(warpaes_context_set_tag(encrypt.get(), tag.data(), 16));
    ASSERT_EQ(warpaes_context_aad(encrypt.get(), c.aad.data(), 10), WARPAES_OK);
    EXPECT_EQ(warpaes_context_aad(encrypt.get(), nullptr, 1), WARPAES_ERROR_ARGUMENT);
    ASSERT_EQ(warpaes_context_update(encrypt.get(), nullptr, 0, nullptr, 0, &written), WARPAES_OK);
    ASSERT_EQ(warpaes_context_aad(encrypt.get(), nullptr, 0), WARPAES_OK) << "no data so far";
    ASSERT_EQ(warpaes_context_update(encrypt.get(), c.text.data(), 20, out.data(), 20, &written), WARPAES_OK);
    expect_state_error(warpaes_context_aad(encrypt.get(), c.aad.data(), 1));
    EXPECT_EQ(warpaes_context_seek(encrypt.get(), 0), WARPAES_ERROR_RANGE);
    EXPECT_EQ(warpaes_context_update(encrypt.get(), c.text.data() + 20, 30, out.data(), 29, &written),
              WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(written, 30U);
    // The message is still intact.
    ASSERT_EQ(warpaes_context_update(encrypt.get(), c.text.data() + 20, 30, out.data() + 20, 30, &written), WARPAES_OK);
    ASSERT_EQ(finish(encrypt), WARPAES_OK);
    EXPECT_EQ(out, c.sealed);
    EXPECT_EQ(tag_of(encrypt), c.tag);
    expect_state_error(warpaes_context_aad(encrypt.get(), c.aad.data(), 1));
    expect_state_error(warpaes_context_update(encrypt.get(), out.data(), 1, out.data(), 1, &written));

    const Context decrypt = begin(c, WARPAES_DECRYPT);
    expect_state_error(finish(decrypt));
    expect_state_error(warpaes_context_get_tag(decrypt.get(), tag.data(), 16));
    ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), c.tag.data(), 16), WARPAES_OK);
    ASSERT_EQ(warpaes_context_set_iv(decrypt.get(), c.iv.data(), 12), WARPAES_OK);
    expect_state_error(finish(decrypt));  // the tag belonged to the previous message

    const Context other = make_context(engine_);
    ASSERT_EQ(context_init(other.get(), WARPAES_CTR, WARPAES_ENCRYPT, keys_.back().get(), out.data(), 16, 0),
              WARPAES_OK);
    expect_state_error(warpaes_context_aad(other.get(), c.aad.data(), 10));
    EXPECT_EQ(
        context_init(other.get(), WARPAES_GCM, WARPAES_ENCRYPT, keys_.back().get(), out.data(), 12, WARPAES_PKCS7),
        WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(context_init(other.get(), WARPAES_GCM, WARPAES_ENCRYPT, keys_.back().get(), out.data(), 0, 0),
              WARPAES_ERROR_IV_LENGTH);
}

WARPAES_FOR_EVERY_BACKEND(GcmContext);

}  // namespace
}  // namespace abi_tests
