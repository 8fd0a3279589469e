// Batches of AES-GCM segments, against libcrypto segment by segment.
#include "gcm_segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

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
            warpaes_segments s = c.request(key, direction, input.data(), result.data(), tags.data());
            ASSERT_EQ(warpaes_crypt_segments(engine.get(), &s), WARPAES_OK) << warpaes_last_error();
            ASSERT_STREQ(s.backend, GetParam().c_str());
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
        warpaes_segments s = c.request(key, WARPAES_DECRYPT, input.data(), result.data(), tags.data());
        const Engine& engine = turn % 2 == 0 ? engine_ : small_chunks;
        ASSERT_EQ(warpaes_crypt_segments(engine.get(), &s), WARPAES_ERROR_AUTHENTICATION);
        const auto first = static_cast<std::uint64_t>(std::find(bad.begin(), bad.end(), true) - bad.begin());
        EXPECT_EQ(s.failures, static_cast<std::uint64_t>(std::count(bad.begin(), bad.end(), true)));
        EXPECT_EQ(s.first_failure, first);
        EXPECT_NE(std::string(warpaes_last_error()).find("segment " + std::to_string(first) + " "), std::string::npos)
            << warpaes_last_error();
        for (std::size_t i = 0; i < c.count; ++i) {
            const std::uint8_t* at = result.data() + i * c.stride(true);
            const Bytes got(at, at + c.length(i));
            EXPECT_EQ(got, bad[i] ? Bytes(c.length(i), 0) : c.texts[i]) << "segment " << i;
        }
        EXPECT_TRUE(result.intact_after(result.size()));
    }
}

TEST_P(GcmSegments, Refused) {
    SegmentsCase c(random_, 4, 50, 50);
    c.inline_tags = true;
    const Key key = make_key(c.key);
    const auto refused = [&](const std::string& what, warpaes_status status, const std::string& named,
                             const std::function<void(warpaes_segments&)>& change) {
        SCOPED_TRACE(what);
        PoisonedBuffer input(c.span(true)), output(c.span(false));
        warpaes_segments s = c.request(key, WARPAES_ENCRYPT, input.data(), output.data(), nullptr);
        change(s);
        EXPECT_EQ(warpaes_crypt_segments(engine_.get(), &s), status) << warpaes_last_error();
        EXPECT_NE(std::string(warpaes_last_error()).find(named), std::string::npos) << warpaes_last_error();
        EXPECT_TRUE(output.intact_after(0) && input.intact_after(0)) << "something was touched";
    };
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    refused("struct_size", WARPAES_ERROR_ARGUMENT, "struct_size", [](auto& s) { s.struct_size = 8; });
    refused("flags", WARPAES_ERROR_ARGUMENT, "flags", [](auto& s) { s.flags = 1; });
    refused("direction", WARPAES_ERROR_ARGUMENT, "direction",
            [](auto& s) { s.direction = static_cast<warpaes_direction>(3); });
    refused("key", WARPAES_ERROR_ARGUMENT, "key", [](auto& s) { s.key = nullptr; });
    refused("nonces", WARPAES_ERROR_ARGUMENT, "nonces", [](auto& s) { s.nonces = nullptr; });
    refused("aad", WARPAES_ERROR_ARGUMENT, "aad", [](auto& s) {
        s.aad = nullptr;
        s.aad_len = 1;
    });
    refused("aad_len", WARPAES_ERROR_DATA_LENGTH, "aad_len", [](auto& s) { s.aad_len = huge; });
    refused("input", WARPAES_ERROR_ARGUMENT, "input", [](auto& s) { s.input = nullptr; });
    refused("output", WARPAES_ERROR_ARGUMENT, "output", [](auto& s) { s.output = nullptr; });
    refused("last_len", WARPAES_ERROR_ARGUMENT, "last_len", [](auto& s) { s.last_len = 51; });
    refused("segment_len", WARPAES_ERROR_DATA_LENGTH, "segment_len", [](auto& s) { s.segment_len = huge; });
    refused("count", WARPAES_ERROR_DATA_LENGTH, "count", [](auto& s) { s.count = huge; });
    refused("a stride", WARPAES_ERROR_DATA_LENGTH, "count", [](auto& s) { s.plaintext_stride = huge; });
    refused("plaintext_stride", WARPAES_ERROR_ARGUMENT, "plaintext_stride", [](auto& s) { s.plaintext_stride = 49; });
    refused("ciphertext_stride", WARPAES_ERROR_ARGUMENT, "ciphertext_stride",
            [](auto& s) { s.ciphertext_stride = 65; });
    refused("strides in place", WARPAES_ERROR_OVERLAP, "strides", [](auto& s) { s.input = s.output; });
    refused("overlap", WARPAES_ERROR_OVERLAP, "output",
            [](auto& s) { s.input = static_cast<const std::uint8_t*>(s.output) + 1; });
    refused("tags in the output", WARPAES_ERROR_OVERLAP, "tags",
            [](auto& s) { s.tags = static_cast<std::uint8_t*>(s.output) + 3; });
    refused("tags in the input", WARPAES_ERROR_OVERLAP, "tags",
            [](auto& s) { s.tags = static_cast<std::uint8_t*>(const_cast<void*>(s.input)) + 3; });
    refused("tags in the nonces", WARPAES_ERROR_OVERLAP, "tags",
            [](auto& s) { s.tags = const_cast<std::uint8_t*>(s.nonces) - 1; });
    refused("nonces in the output", WARPAES_ERROR_OVERLAP, "nonces",
            [](auto& s) { s.nonces = static_cast<const std::uint8_t*>(s.output) + 3; });

    warpaes_segments s = WARPAES_SEGMENTS_INIT;
    s.direction = WARPAES_ENCRYPT;
    s.key = key.get();
    EXPECT_EQ(warpaes_crypt_segments(engine_.get(), &s), WARPAES_OK) << "no segments: " << warpaes_last_error();
    EXPECT_EQ(warpaes_crypt_segments(engine_.get(), nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_crypt_segments(nullptr, &s), WARPAES_ERROR_ARGUMENT);
}

// Whatever is larger than an address space is refused: no sum or product of it wraps round into something small, and
// nothing is called authentic that nobody has looked at.
TEST_P(GcmSegments, HugeNumbersAreRefused) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max(), one = 1;
    const Key key = make_key(Bytes(16, 1));
    const std::uint64_t numbers[] = {0,
                                     1,
                                     16,
                                     17,
                                     one << 28,
                                     one << 32,
                                     one << 56,
                                     one << 57,
                                     one << 59,
                                     one << 60,
                                     one << 61,
                                     (one << 60) - 1,
                                     one << 63,
                                     max / 16,
                                     max / 12,
                                     max - 1000,
                                     max - (one << 18) + 2,
                                     max};
    for (const warpaes_direction direction : directions) {
        for (const bool inline_tags : {false, true}) {
            for (const std::uint64_t count : numbers) {
                for (const std::uint64_t length : {std::uint64_t{0}, one, std::uint64_t{16}, one << 36, max}) {
                    for (const std::uint64_t stride : numbers) {
                        // With these in mind somebody could have the memory.
                        if (count <= one << 56 && length <= 16 && stride <= one << 32) continue;
                        Bytes input(64), output(64, 0xaa), nonces(12), tags(16, 0xee);
                        warpaes_segments s = WARPAES_SEGMENTS_INIT;
                        s.direction = direction;
                        s.key = key.get();
                        s.nonces = nonces.data();
                        s.count = count;
                        s.segment_len = s.last_len = length;
                        s.input = input.data();
                        s.output = output.data();
                        s.plaintext_stride = stride;
                        if (stride % 2 == 0) s.ciphertext_stride = stride;
                        if (!inline_tags) s.tags = tags.data();
                        if (count == 0 || (count == 1 && length <= 16)) continue;
                        const warpaes_status status = warpaes_crypt_segments(engine_.get(), &s);
                        ASSERT_TRUE(status == WARPAES_ERROR_DATA_LENGTH || status == WARPAES_ERROR_RANGE ||
                                    status == WARPAES_ERROR_ARGUMENT)
                            << status << " for " << count << " of " << length << " at " << stride;
                        ASSERT_EQ(output, Bytes(64, 0xaa));
                    }
                }
            }
        }
    }
    // Each of its buffers by itself, at the end of all addresses.
    const auto at_the_end = reinterpret_cast<std::uint8_t*>(max - 63);
    for (int which = 0; which < 5; ++which) {
        Bytes bytes(1024);
        warpaes_segments s = WARPAES_SEGMENTS_INIT;
        s.direction = WARPAES_ENCRYPT;
        s.key = key.get();
        s.count = 10;
        s.segment_len = s.last_len = 20;
        s.nonces = which == 0 ? at_the_end : bytes.data();
        s.input = which == 1 ? at_the_end : bytes.data();
        s.output = which == 2 ? at_the_end : bytes.data() + 512;
        s.tags = which == 3 ? at_the_end : bytes.data() + 256;
        s.aad = which == 4 ? at_the_end : nullptr;
        s.aad_len = which == 4 ? 65 : 0;
        EXPECT_EQ(warpaes_crypt_segments(engine_.get(), &s), WARPAES_ERROR_RANGE) << which;
        const std::string name =
            std::array{"nonces", "input", "output", "tags", "aad"}[static_cast<std::size_t>(which)];
        EXPECT_EQ(std::string(warpaes_last_error()).find(name), 0U) << warpaes_last_error();
    }
}

WARPAES_FOR_EVERY_BACKEND(GcmSegments);

}  // namespace
}  // namespace abi_tests
