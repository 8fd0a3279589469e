// Compares batches of AES-GCM segments with libcrypto segment by segment.
#include <gtest/gtest.h>

#include <algorithm>

#include "gcm.hpp"

namespace abi_tests {
namespace {

class GcmSegments : public BackendTest {
protected:
    /// Seals and opens the batch in host memory.
    void check(const SegmentsCase& c, const Engine& engine) {
        SCOPED_TRACE(c.name());
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            PoisonedBuffer input(c.span(encrypt), random_.below(17)), output(c.span(!encrypt), random_.below(17));
            Bytes tags = encrypt || c.inline_tags ? Bytes(16 * c.count, 0xee) : c.tags();
            PoisonedBuffer& result = c.in_place ? input : output;
            c.lay_out(input, encrypt);
            const Bytes before = input.bytes(input.size());
            Segments s = c.request(key, direction, input.data(), result.data(), tags.data());
            ASSERT_EQ(crypt_segments(engine.get(), s), WARPAES_OK) << warpaes_last_error();
            ASSERT_EQ(s.on_gpu, GetParam() == "cuda" && c.count != 0);
            ASSERT_EQ(s.failures, 0U);
            c.expect(result, !encrypt);
            if (encrypt && !c.inline_tags) {
                ASSERT_EQ(tags, c.tags());
            }
            ASSERT_TRUE(result.intact_after(result.size())) << "wrote outside";
            if (!c.in_place) {
                ASSERT_EQ(input.bytes(input.size()), before) << "wrote to its input";
            }
        }
    }

    Random random_{51};
};

TEST_P(GcmSegments, AnyLayout) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 3);
    for (const std::size_t count : {1U, 2U, 3U, 7U, 33U, 150U}) {
        for (const std::size_t segment : {0U, 1U, 15U, 16U, 17U, 100U, 1024U, 5000U}) {
            if (count * segment > 100000 || (simulated() && count * segment > 20000)) continue;
            for (int variant = 0; variant < 8; ++variant) {
                SegmentsCase c(random_, count, segment, segment - random_.below(segment + 1));
                c.inline_tags = variant % 2 == 0;
                c.in_place = variant / 2 % 2 == 0;
                c.space_out(random_, variant / 4 % 2 == 0 ? 0 : 40);
                check(c, variant % 3 == 0 ? engine_ : small_chunks);
            }
        }
    }
}

TEST_P(GcmSegments, LargerThanAChunk) {
    const Engine engine = make_engine(GetParam(), 65536, 3);
    for (const std::size_t segment : {65536U, 200000U, 5U << 20}) {
        if (simulated() && segment > 100000) break;
        SegmentsCase c(random_, 3, segment, segment / 2 + 1);
        check(c, engine);
        c.inline_tags = true;
        c.space_out(random_, 5);
        check(c, engine);
    }
}

TEST_P(GcmSegments, WhatWasAlteredIsNamedAndWiped) {
    const Engine small_chunks = make_engine(GetParam(), 4096, 3);
    for (int turn = 0; turn < 30; ++turn) {
        SegmentsCase c(random_, 1 + random_.below(40), 1 + random_.below(700), 1);
        c.inline_tags = turn % 2 == 0;
        c.in_place = turn % 3 == 0;
        c.space_out(random_, turn % 5);
        SCOPED_TRACE(c.name());
        const Key key = make_key(c.key);
        PoisonedBuffer input(c.span(false)), output(c.span(true));
        PoisonedBuffer& result = c.in_place ? input : output;
        c.lay_out(input, false);
        Bytes tags = c.tags();
        std::vector<bool> bad(c.count);
        for (std::size_t i = 0; i < c.count; ++i) bad[i] = turn == 0 || random_.below(4) == 0;
        bad[random_.below(c.count)] = true;
        for (std::size_t i = 0; i < c.count; ++i) {
            if (!bad[i]) continue;
            if (random_.below(2) == 0) {
                input.data()[i * c.stride(false) + random_.below(c.length(i))] ^= 1;
            } else if (c.inline_tags) {
                input.data()[i * c.stride(false) + c.length(i) + random_.below(16)] ^= 0x80;
            } else {
                tags[16 * i + random_.below(16)] ^= 4;
            }
        }
        Segments s = c.request(key, WARPAES_DECRYPT, input.data(), result.data(), tags.data());
        const Engine& engine = turn % 2 == 0 ? engine_ : small_chunks;
        ASSERT_EQ(crypt_segments(engine.get(), s), WARPAES_ERROR_AUTHENTICATION);
        const auto first = static_cast<std::uint64_t>(std::find(bad.begin(), bad.end(), true) - bad.begin());
        EXPECT_EQ(s.failures, static_cast<std::uint64_t>(std::count(bad.begin(), bad.end(), true)));
        EXPECT_EQ(s.first_failure, first);
        for (std::size_t i = 0; i < c.count; ++i) {
            const std::uint8_t* at = result.data() + i * c.stride(true);
            const Bytes got(at, at + c.length(i));
            EXPECT_EQ(got, bad[i] ? Bytes(c.length(i), 0) : c.texts[i]) << "segment " << i;
        }
        EXPECT_TRUE(result.intact_after(result.size()));
    }
}

WARPAES_FOR_EVERY_BACKEND(GcmSegments);

}  // namespace
}  // namespace abi_tests
