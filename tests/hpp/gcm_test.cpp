// Tests AES-GCM in the C++ headers, which must pass on all arguments unchanged.
#include <gtest/gtest.h>

#include <vector>
#include <warpaes/gcm.hpp>

#include "evp_oracle.hpp"
#include "pattern.hpp"

namespace {

using oracle::Bytes;
using warpaes::Direction;
using warpaes::Mode;

class HppGcm : public testing::Test {
protected:
    template <typename Call>
    static warpaes_status status_of(Call call) {
        try {
            call();
        } catch (const warpaes::Error& e) {
            return e.status();
        }
        return WARPAES_OK;
    }
    template <typename Call>
    static std::string sentence_of(Call call) {
        try {
            call();
        } catch (const warpaes::Error& e) {
            return e.what();
        }
        return "";
    }

    const Bytes key_bytes = pattern(32), nonce = pattern(12, 7), aad = pattern(21, 9), text = pattern(1000, 3);
    const Bytes sealed = oracle::evp_gcm(key_bytes, nonce, text, aad);
    warpaes::Engine engine;
    warpaes::Key key{key_bytes};
};

TEST_F(HppGcm, SealsAndOpens) {
    EXPECT_EQ(warpaes::seal(engine, key, nonce, text, aad), sealed);
    EXPECT_EQ(warpaes::open(engine, key, nonce, sealed, aad), text);
    EXPECT_EQ(warpaes::seal(engine, key, nonce, {}), oracle::evp_gcm(key_bytes, nonce, {}, {}));
    EXPECT_TRUE(warpaes::open(engine, key, nonce, warpaes::seal(engine, key, nonce, {})).empty());
    Bytes bad = sealed;
    bad[999] ^= 1;
    for (const Bytes& wrong : {bad, Bytes(sealed.begin(), sealed.end() - 1), Bytes(15), Bytes{}}) {
        EXPECT_EQ(status_of([&] { warpaes::open(engine, key, nonce, wrong, aad); }), WARPAES_ERROR_AUTHENTICATION);
    }
    EXPECT_EQ(status_of([&] { warpaes::open(engine, key, nonce, sealed); }), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(status_of([&] { warpaes::seal(engine, key, {}, text); }), WARPAES_ERROR_IV_LENGTH);
}

TEST_F(HppGcm, SealsWithANonceOfItsOwn) {
    const Bytes one = warpaes::seal(engine, key, text), other = warpaes::seal(engine, key, text);
    ASSERT_EQ(one.size(), 12 + text.size() + 16);
    EXPECT_NE(Bytes(one.begin(), one.begin() + 12), Bytes(other.begin(), other.begin() + 12));
    EXPECT_EQ(Bytes(one.begin() + 12, one.end()),
              oracle::evp_gcm(key_bytes, Bytes(one.begin(), one.begin() + 12), text, {}));
    EXPECT_EQ(warpaes::open(engine, key, one), text);
    EXPECT_TRUE(warpaes::open(engine, key, warpaes::seal(engine, key, {})).empty());
    for (const std::size_t at : {std::size_t{0}, std::size_t{12}, one.size() - 1}) {
        Bytes bad = one;
        bad[at] ^= 1;
        EXPECT_EQ(status_of([&] { warpaes::open(engine, key, bad); }), WARPAES_ERROR_AUTHENTICATION);
    }
    for (const std::size_t length : {std::size_t{0}, std::size_t{27}}) {
        EXPECT_EQ(status_of([&] { warpaes::open(engine, key, Bytes(length)); }), WARPAES_ERROR_AUTHENTICATION);
    }
}

TEST_F(HppGcm, ShorterTagsInMessages) {
    Bytes output(text.size()), tag(12);
    warpaes::Message message;
    message.mode = Mode::gcm;
    message.direction = Direction::encrypt;
    message.key = &key;
    message.iv = nonce;
    message.input = text;
    message.output = output;
    message.aad = aad;
    message.tag = tag;
    EXPECT_EQ(engine.crypt(message).output_len, text.size());
    EXPECT_EQ(tag, Bytes(sealed.end() - 16, sealed.end() - 4));
    EXPECT_EQ(output, Bytes(sealed.begin(), sealed.end() - 16));
}

TEST_F(HppGcm, Contexts) {
    warpaes::Context context(engine);
    Bytes output(text.size()), tag(16);
    context.init(Mode::gcm, Direction::encrypt, key, nonce);
    context.aad(warpaes::ConstBytes(aad.data(), 5));
    context.aad(warpaes::ConstBytes(aad.data() + 5, aad.size() - 5));
    context.update(warpaes::ConstBytes(text.data(), 333), warpaes::Bytes(output.data(), 333));
    context.update(warpaes::ConstBytes(text.data() + 333, 667), warpaes::Bytes(output.data() + 333, 667));
    EXPECT_EQ(context.final(), 0U);
    context.get_tag(tag);
    EXPECT_EQ(output, Bytes(sealed.begin(), sealed.end() - 16));
    EXPECT_EQ(tag, Bytes(sealed.end() - 16, sealed.end()));

    for (const bool wrong : {false, true}) {
        context.init(Mode::gcm, Direction::decrypt, key, nonce);
        context.aad(aad);
        Bytes opened(output.size());
        context.update(output, opened);
        if (wrong) tag[0] ^= 1;
        context.set_tag(tag);
        EXPECT_EQ(status_of([&] { context.final(); }), wrong ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
        EXPECT_EQ(opened, text);
    }
}

TEST_F(HppGcm, Segments) {
    // Seals three segments of 300 bytes and one segment of 100 bytes.
    const Bytes nonces = pattern(48, 77);
    Bytes sealed_all(3 * 316 + 116), opened(1000);
    warpaes::Segments segments{.direction = Direction::encrypt,
                               .key = &key,
                               .nonces = nonces,
                               .segment_len = 300,
                               .last_len = 100,
                               .aad = aad,
                               .input = text,
                               .output = sealed_all};
    EXPECT_EQ(warpaes::crypt_segments(engine, segments), sealed_all.size());
    for (std::size_t i = 0; i < 4; ++i) {
        const auto at = [](const Bytes& bytes, std::size_t begin, std::size_t n) {
            return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                         bytes.begin() + static_cast<std::ptrdiff_t>(begin + n));
        };
        const std::size_t n = i == 3 ? 100 : 300;
        EXPECT_EQ(at(sealed_all, i * 316, n + 16),
                  oracle::evp_gcm(key_bytes, at(nonces, 12 * i, 12), at(text, i * 300, n), aad));
    }
    segments.direction = Direction::decrypt;
    segments.input = sealed_all;
    segments.output = opened;
    EXPECT_EQ(warpaes::crypt_segments(engine, segments), 1000U);
    EXPECT_EQ(opened, text);
    sealed_all[316 + 5] ^= 1;
    sealed_all[3 * 316 + 115] ^= 1;
    try {
        warpaes::crypt_segments(engine, segments);
        FAIL() << "two segments are not authentic";
    } catch (const warpaes::SegmentsError& e) {
        EXPECT_EQ(e.failures(), 2U);
        EXPECT_EQ(e.first_failure(), 1U);
        EXPECT_EQ(e.status(), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_STREQ(e.what(),
                     "tag: 2 of 4 segments are not authentic, the first is segment 1. The key, the nonce or the "
                     "associated data is wrong, or the data was altered");
    }
    sealed_all[316 + 5] ^= 1;
    try {
        warpaes::crypt_segments(engine, segments);
        FAIL() << "the last segment, which is shorter, is not authentic";
    } catch (const warpaes::SegmentsError& e) {
        EXPECT_EQ(e.failures(), 1U);
        EXPECT_EQ(e.first_failure(), 3U);
    }

    // Tests tags in a separate buffer.
    Bytes tags(64), ciphertext(1000);
    segments = {.direction = Direction::encrypt,
                .key = &key,
                .nonces = nonces,
                .segment_len = 300,
                .last_len = 100,
                .input = text,
                .output = ciphertext,
                .tags = tags};
    EXPECT_EQ(warpaes::crypt_segments(engine, segments), 1000U);

    const auto refused = [&](auto change) {
        warpaes::Segments wrong = segments;
        change(wrong);
        return status_of([&] { warpaes::crypt_segments(engine, wrong); });
    };
    EXPECT_EQ(refused([&](auto& s) { s.nonces = warpaes::ConstBytes(nonces.data(), 47); }), WARPAES_ERROR_IV_LENGTH);
    EXPECT_EQ(refused([&](auto& s) { s.tags = warpaes::Bytes(tags.data(), 63); }), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(refused([&](auto& s) { s.input = warpaes::ConstBytes(text.data(), 999); }), WARPAES_ERROR_DATA_LENGTH);
    EXPECT_EQ(refused([&](auto& s) { s.output = warpaes::Bytes(ciphertext.data(), 999); }),
              WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(refused([&](auto& s) { s.plaintext_stride = ~std::uint64_t{0}; }), WARPAES_ERROR_DATA_LENGTH);
    EXPECT_EQ(refused([&](auto& s) { s.nonces = {}; }), WARPAES_OK) << "nothing to do";
}

/// Lengths and strides may come from a container's header that is not yet authenticated. A segment that would overlap
/// the next segment or extend past the end of its buffer is refused before any byte is read or written.
TEST_F(HppGcm, SegmentsThatReachTooFar) {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    const Bytes nonces = pattern(36, 5);
    Bytes output(700, 0xa5), tags(48);
    const auto run = [&](Direction direction, bool inline_tags, std::size_t count, std::uint64_t segment_len,
                         std::uint64_t last_len, std::uint64_t plaintext_stride, std::uint64_t ciphertext_stride) {
        warpaes::Segments s{.direction = direction,
                            .key = &key,
                            .nonces = warpaes::ConstBytes(nonces.data(), 12 * count),
                            .segment_len = segment_len,
                            .last_len = last_len,
                            .input = warpaes::ConstBytes(text.data(), 700),
                            .output = output,
                            .plaintext_stride = plaintext_stride,
                            .ciphertext_stride = ciphertext_stride};
        if (!inline_tags) s.tags = tags;
        return sentence_of([&] { (void)warpaes::crypt_segments(engine, s); });
    };
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const std::size_t count : {2U, 3U}) {
            SCOPED_TRACE(count);
            for (const std::uint64_t stride : {1U, 50U, 99U}) {
                EXPECT_EQ(run(direction, true, count, 100, 0, stride, 0),
                          "plaintext_stride: must be at least segment_len");
                EXPECT_EQ(run(direction, false, count, 100, 0, 0, stride),
                          "ciphertext_stride: must be at least segment_len");
            }
            for (const std::uint64_t stride : {1U, 100U, 115U}) {
                EXPECT_EQ(run(direction, true, count, 100, 0, 0, stride),
                          "ciphertext_stride: must be at least segment_len plus the tag's 16 bytes");
            }
            for (const std::uint64_t length : {most, most - 15, most / 2, (std::uint64_t{1} << 60) + 1}) {
                EXPECT_EQ(run(direction, true, count, length, 0, 0, 0), "segment_len: must be at most 2^60");
                EXPECT_EQ(run(direction, true, count, length, 0, 1, 1), "segment_len: must be at most 2^60");
            }
            EXPECT_EQ(run(direction, true, count, 100, 0, most / 2, most / 2),
                      "nonces: there are too many; the segments would take more than 2^60 bytes");
            EXPECT_EQ(run(direction, true, count, 100, 101, 0, 0), "last_len: must be at most segment_len");
            EXPECT_EQ(run(direction, true, count, 100, most, 0, 0), "last_len: must be at most segment_len");
        }
        EXPECT_EQ(output, Bytes(700, 0xa5));
    }
    EXPECT_EQ(run(Direction::encrypt, true, 1, 4096, 0, 1, 1), "") << "a single segment needs no stride";
    EXPECT_EQ(run(Direction::encrypt, true, 2, 100, 100, 100, 116), "");
    EXPECT_EQ(run(Direction::encrypt, false, 2, 100, 0, 100, 100), "");
}

/// The bytes after the segments stay unchanged. If a buffer is too short, the error message names it.
TEST_F(HppGcm, RoomForSegments) {
    const Bytes nonces = pattern(36, 5);
    Bytes output(1200, 0xa5), tags(64, 0xa5);
    const warpaes::Segments good{.direction = Direction::encrypt,
                                 .key = &key,
                                 .nonces = nonces,
                                 .segment_len = 100,
                                 .last_len = 100,
                                 .input = text,
                                 .output = output,
                                 .plaintext_stride = 300,
                                 .ciphertext_stride = 400,
                                 .tags = tags};
    EXPECT_EQ(warpaes::crypt_segments(engine, good), 900U);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto at = [](const Bytes& bytes, std::size_t begin, std::size_t n) {
            return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                         bytes.begin() + static_cast<std::ptrdiff_t>(begin + n));
        };
        Bytes made = at(output, 400 * i, 100), tag = at(tags, 16 * i, 16);
        made.insert(made.end(), tag.begin(), tag.end());
        EXPECT_EQ(made, oracle::evp_gcm(key_bytes, at(nonces, 12 * i, 12), at(text, 300 * i, 100), {}));
        EXPECT_EQ(at(output, 400 * i + 100, 300), Bytes(300, 0xa5));
    }
    EXPECT_EQ(Bytes(tags.begin() + 48, tags.end()), Bytes(16, 0xa5));
    const auto sentence = [&](auto change) -> std::string {
        warpaes::Segments wrong = good;
        change(wrong);
        try {
            warpaes::crypt_segments(engine, wrong);
        } catch (const warpaes::Error& e) {
            return e.what();
        }
        return {};
    };
    EXPECT_EQ(sentence([&](auto& s) { s.input = warpaes::ConstBytes(text.data(), 700); }), "");
    EXPECT_EQ(sentence([&](auto& s) { s.input = warpaes::ConstBytes(text.data(), 699); }),
              "input: is shorter than its segments");
    EXPECT_EQ(sentence([&](auto& s) { s.output = warpaes::Bytes(output.data(), 900); }), "");
    EXPECT_EQ(sentence([&](auto& s) { s.output = warpaes::Bytes(output.data(), 899); }),
              "output: is shorter than its segments");
    EXPECT_EQ(sentence([&](auto& s) { s.tags = warpaes::Bytes(tags.data(), 48); }), "");
    EXPECT_EQ(sentence([&](auto& s) { s.tags = warpaes::Bytes(tags.data(), 47); }),
              "tags: must have 16 bytes for each segment");
    EXPECT_EQ(sentence([&](auto& s) { s.nonces = warpaes::ConstBytes(nonces.data(), 35); }),
              "nonces: must have 12 bytes for each segment");
    EXPECT_EQ(sentence([&](auto& s) { s.last_len = 101; }), "last_len: must be at most segment_len");
    constexpr std::uint64_t half = std::uint64_t{1} << 59;  // two segments of this size
    EXPECT_EQ(sentence([&](auto& s) { s.plaintext_stride = half; }), "input: is shorter than its segments");
    EXPECT_EQ(sentence([&](auto& s) { s.plaintext_stride = half + 1; }),
              "nonces: there are too many; the segments would take more than 2^60 bytes");
    EXPECT_EQ(sentence([&](auto& s) { s.ciphertext_stride = half + 1; }),
              "nonces: there are too many; the segments would take more than 2^60 bytes");
}

}  // namespace
