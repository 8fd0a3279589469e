// Compares segments of every format with libcrypto on every backend. Segments are sealed and opened, and refused if
// anything is wrong.
#include "format/segment_cipher.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "format/segment_stage.hpp"
#include "segment_cases.hpp"

namespace warpaes::test {
namespace {

class SegmentCipherTest : public testing::TestWithParam<std::string> {
protected:
    SegmentCipherTest() : engine_({.backend = GetParam()}) {}

    Lane& lane() {
        if (!lease_) lease_.emplace(engine_.lease(engine_.plan(Mode::gcm, Direction::encrypt, 0), 0, 0));
        return **lease_;
    }

    /// Seals the whole file with `at_once` segments per call.
    Bytes seal_with(const SegmentCipher& cipher, const Bytes& plaintext, std::uint64_t at_once) {
        const SegmentLayout& layout = cipher.layout();
        Bytes file(static_cast<std::size_t>(layout.file_bytes(plaintext.size())), 0xa5);
        std::copy(cipher.header().begin(), cipher.header().end(), file.begin());
        Bytes text = plaintext;
        for_each_range(layout, plaintext.size(), at_once, [&](const SegmentRange& range) {
            cipher.process(lane(), Direction::encrypt, range, text.data() + layout.text_offset(range.first),
                           file.data() + layout.file_offset(range.first));
        });
        EXPECT_EQ(text, plaintext) << "sealing changed its input";
        return file;
    }

    Bytes open_with(const SegmentCipher& cipher, Bytes file, std::uint64_t at_once) {
        const SegmentLayout& layout = cipher.layout();
        Bytes text(static_cast<std::size_t>(layout.text_bytes(file.size())), 0xa5);
        for_each_range(layout, text.size(), at_once, [&](const SegmentRange& range) {
            cipher.process(lane(), Direction::decrypt, range, text.data() + layout.text_offset(range.first),
                           file.data() + layout.file_offset(range.first));
        });
        return text;
    }

    template <typename Call>
    static void for_each_range(const SegmentLayout& layout, std::uint64_t text_bytes, std::uint64_t at_once,
                               const Call& call) {
        const std::uint64_t segments = layout.segments_of(text_bytes);
        for (std::uint64_t first = 0; first < segments; first += at_once) {
            const std::uint64_t count = std::min(at_once, segments - first);
            const bool ends = first + count == segments;
            call({first, count, ends ? text_bytes - layout.text_offset(segments - 1) : 0, ends});
        }
    }

    Engine engine_;
    std::optional<LaneLease> lease_;
};

std::vector<std::size_t> lengths_round_segments(const SegmentLayout& layout) {
    std::vector<std::size_t> lengths{0, 1, 15, 16, 17};
    for (const std::uint64_t segments : {1u, 2u, 3u, 6u}) {
        for (const int difference : {-17, -16, -1, 0, 1, 15, 16, 17}) {
            const auto length = static_cast<std::int64_t>(layout.text_offset(segments)) + difference;
            if (length >= 0) lengths.push_back(static_cast<std::size_t>(length));
        }
    }
    return lengths;
}

TEST_P(SegmentCipherTest, AsLibcryptoSealsThemAndBack) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Bytes aad = pseudorandom(23, 2);
        const auto cipher = make_segment_cipher(key, aad);
        for (const std::size_t length : lengths_round_segments(cipher->layout())) {
            const Bytes plaintext = pseudorandom(length, 3);
            const Bytes expected = seal(key, aad, cipher->header(), plaintext);
            for (const std::uint64_t at_once : {1u, 2u, 100u}) {
                ASSERT_EQ(seal_with(*cipher, plaintext, at_once), expected)
                    << c.name << " " << length << " " << at_once;
                const auto again = open_segment_cipher(key, aad, expected);
                ASSERT_EQ(open_with(*again, expected, at_once), plaintext) << c.name << " " << length << " " << at_once;
            }
        }
    }
}

TEST_P(SegmentCipherTest, OneSegmentInPlace) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const auto cipher = make_segment_cipher(key, {});
        const std::uint64_t tag = cipher->layout().tag;
        for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, cipher->layout().text - 1}) {
            const Bytes plaintext = pseudorandom(length, 4);
            Bytes apart(length + tag), text = plaintext, both = plaintext;
            both.resize(length + tag, 0xa5);
            const SegmentRange range{5, 1, length, true};
            cipher->process(lane(), Direction::encrypt, range, text.data(), apart.data());
            cipher->process(lane(), Direction::encrypt, range, both.data(), both.data());
            ASSERT_EQ(both, apart) << c.name << " " << length;
            cipher->process(lane(), Direction::decrypt, range, both.data(), both.data());
            both.resize(length);
            ASSERT_EQ(both, plaintext) << c.name << " " << length;
        }
    }
}

TEST_P(SegmentCipherTest, AnyAlteredBitIsFoundAndTheWholeRangeWiped) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const auto cipher = make_segment_cipher(key, {});
        const SegmentLayout& layout = cipher->layout();
        const SegmentRange range{3, 3, 5, true};
        Bytes text = pseudorandom(text_bytes(layout, range), 5), sealed(sealed_bytes(layout, range));
        cipher->process(lane(), Direction::encrypt, range, text.data(), sealed.data());
        const std::size_t step = std::max<std::size_t>(1, sealed.size() / 300);
        for (std::size_t at = 0; at < sealed.size(); at += at + step < sealed.size() ? step : 1) {
            Bytes altered = sealed, out(text.size(), 0xa5);
            altered[at] = static_cast<std::uint8_t>(altered[at] ^ (1u << (at % 8)));
            try {
                cipher->process(lane(), Direction::decrypt, range, out.data(), altered.data());
                FAIL() << c.name << " " << at;
            } catch (const Error& e) {
                ASSERT_EQ(e.status(), WARPAES_ERROR_AUTHENTICATION);
                const std::uint64_t segment = 3 + std::min<std::uint64_t>(2, at / (layout.text + layout.tag));
                const std::string where = "segment " + std::to_string(segment) + ", at byte " +
                                          std::to_string(layout.file_offset(segment)) + ", ";
                ASSERT_NE(std::string(e.what()).find(where), std::string::npos) << e.what();
            }
            ASSERT_EQ(out, Bytes(out.size(), 0)) << c.name << " " << at;
        }
        // Opens the segment at a wrong position or with the wrong end flag.
        for (const SegmentRange& wrong : {SegmentRange{2, 3, 5, true}, SegmentRange{4, 3, 5, true}}) {
            Bytes out(text.size(), 0xa5), input = sealed;
            EXPECT_THROW(cipher->process(lane(), Direction::decrypt, wrong, out.data(), input.data()), Error);
            EXPECT_EQ(out, Bytes(out.size(), 0));
        }
        if (layout.last_is_shorter) continue;  // in this format, only the length determines the end of the file
        Bytes out(text.size(), 0xa5), input = sealed;
        EXPECT_THROW(cipher->process(lane(), Direction::decrypt, {3, 2, layout.text, true}, out.data(), input.data()),
                     Error);
    }
}

TEST_P(SegmentCipherTest, EveryByteOfTheNumberIsInTheNonce) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const auto cipher = make_segment_cipher(key, {});
        const SegmentLayout& layout = cipher->layout();
        const auto full = static_cast<std::size_t>(layout.text);
        Bytes file_header(cipher->header().begin(), cipher->header().end());
        // Tests pairs of a full segment and a short last segment, at segment numbers around every carry between bytes,
        // and at the maximum.
        std::vector<std::uint64_t> numbers{layout.most_segments - 1};
        for (std::uint64_t carry = 1 << 8; carry < layout.most_segments; carry <<= 8) numbers.push_back(carry);
        for (const std::uint64_t number : numbers) {
            const SegmentRange range{number - 1, 2, 5, true};
            Bytes text = pseudorandom(full + 5, 8), sealed(sealed_bytes(layout, range)), opened(text.size());
            const auto middle = text.begin() + static_cast<std::ptrdiff_t>(full);
            Bytes expected = seal_segment(key, {}, file_header, number - 1, false, Bytes(text.begin(), middle));
            const Bytes last = seal_segment(key, {}, file_header, number, true, Bytes(middle, text.end()));
            expected.insert(expected.end(), last.begin(), last.end());
            cipher->process(lane(), Direction::encrypt, range, text.data(), sealed.data());
            ASSERT_EQ(sealed, expected) << c.name << " " << number;
            cipher->process(lane(), Direction::decrypt, range, opened.data(), sealed.data());
            ASSERT_EQ(opened, text) << c.name << " " << number;
        }
    }
}

TEST_P(SegmentCipherTest, SegmentsBeyondTheFormatAreRefused) {
    for (const SegmentCase& c : segment_cases) {
        const auto cipher = make_segment_cipher(key_of(c), {});
        const std::uint64_t most = cipher->layout().most_segments;
        Bytes text(cipher->layout().text), sealed(cipher->layout().text + cipher->layout().tag);
        const auto seal_at = [&](std::uint64_t segment) {
            cipher->process(lane(), Direction::encrypt, {segment, 1, 0, true}, text.data(), sealed.data());
        };
        EXPECT_NO_THROW(seal_at(most - 1)) << c.name;
        EXPECT_THROW(seal_at(most), Error) << c.name;
        EXPECT_THROW(seal_at(~std::uint64_t{0}), Error) << c.name;
        for (const std::uint64_t count : {most + 1, ~std::uint64_t{0}}) {
            try {
                cipher->process(lane(), Direction::encrypt, {1, count, 0, true}, text.data(), sealed.data());
                FAIL() << c.name << " " << count;
            } catch (const Error& e) {
                EXPECT_EQ(e.status(), WARPAES_ERROR_DATA_LENGTH) << c.name << " " << count;
            }
        }
    }
}

TEST_P(SegmentCipherTest, HeadersThatAreNone) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const auto status = [&](const StreamKey& k, const Bytes& aad, const Bytes& header) {
            try {
                (void)open_segment_cipher(k, aad, header);
            } catch (const Error& e) {
                return e.status();
            }
            return WARPAES_OK;
        };
        const auto cipher = make_segment_cipher(key, {});
        Bytes header(cipher->header().begin(), cipher->header().end());
        EXPECT_EQ(status(key, {}, header), WARPAES_OK);
        for (std::size_t n = 0; n < header.size(); ++n) {
            EXPECT_EQ(status(key, {}, Bytes(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(n))),
                      WARPAES_ERROR_FORMAT);
        }
        if (c.parameters.format->commits) {
            EXPECT_EQ(status(key_of(c, 2), {}, header), WARPAES_ERROR_AUTHENTICATION);
            EXPECT_EQ(status(key, {1}, header), WARPAES_ERROR_AUTHENTICATION);
            for (std::size_t at = 0; at < header.size(); ++at) {
                Bytes altered = header;
                altered[at] ^= 0x10;
                EXPECT_EQ(status(key, {}, altered), WARPAES_ERROR_AUTHENTICATION);
            }
        } else {
            for (unsigned bit = 0; bit < 8; ++bit) {
                Bytes altered = header;
                altered[0] = static_cast<std::uint8_t>(altered[0] ^ (1u << bit));
                EXPECT_EQ(status(key, {}, altered), WARPAES_ERROR_FORMAT) << c.name << " " << bit;
            }
        }
    }
}

TEST_P(SegmentCipherTest, LongAssociatedDataAndFreshSalts) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Bytes aad = pseudorandom(100000, 6), plaintext = pseudorandom(100, 7);
        const auto a = make_segment_cipher(key, aad), b = make_segment_cipher(key, aad);
        EXPECT_FALSE(std::equal(a->header().begin(), a->header().end(), b->header().begin()));
        const Bytes file = seal_with(*a, plaintext, 100);
        EXPECT_EQ(open_with(*open_segment_cipher(key, aad, file), file, 100), plaintext);
        Bytes other = aad;
        other.back() ^= 1;
        EXPECT_THROW((void)open_with(*open_segment_cipher(key, other, file), file, 100), Error);
    }
}

std::vector<std::string> usable_backends() {
    std::vector<std::string> names;
    for (const Backend* b : all_backends()) {
        if (b->usable()) names.emplace_back(b->name());
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, SegmentCipherTest, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
