// Compares GCM runs on every backend with the readable reference and with libcrypto: stretches, segments, tags and
// digests.
#include <gtest/gtest.h>

#include "aes/ghash.hpp"
#include "backend/cuda_backend.hpp"
#include "backend/stretch.hpp"
#include "cpu_backends.hpp"
#include "reference.hpp"

namespace warpaes::test {
namespace {

#if defined(WARPAES_TEST_CUDA)
std::vector<NamedBackend> tested_backends() {
    return {{"cuda", &cuda_backend()}};
}
#else
std::vector<NamedBackend> tested_backends() {
    return cpu_backends();
}
#endif

/// The parameters of a run except its direction. Sizes are in bytes.
struct Shape {
    std::size_t count = 1;
    std::size_t segment = 0;
    std::size_t last = 0;
    std::size_t input_gap = 0;  ///< gap between segments
    std::size_t output_gap = 0;
    std::uint64_t first_block = 0;
    std::size_t aad = 0;
    GcmRun::Result result = GcmRun::Result::digest;
    bool hash_only = false;
    Placement placement{};
    bool beyond_caches = false;
};

Bytes slice(const Bytes& bytes, std::size_t offset, std::size_t n) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(n)};
}

/// Computes expected texts, digests and tags with libcrypto's ECB and with the arithmetic that ghash_test.cpp compares
/// with the reference. The reference would be too slow for long texts.
class Expectation {
public:
    explicit Expectation(const Bytes& key) : key_(key), h_(load_element(ecb(Bytes(16)))) {}

    Bytes with_key_stream(const Block& j0, std::uint64_t first_block, Bytes text) const {
        Bytes counters;
        for (std::size_t i = 0; i < (text.size() + 15) / 16; ++i) {
            Block counter = j0;
            const std::uint64_t times = first_block + i + 1;
            const auto low = static_cast<std::uint32_t>(
                static_cast<std::uint32_t>(j0[12] << 24 | j0[13] << 16 | j0[14] << 8 | j0[15]) + times);
            for (unsigned k = 0; k < 4; ++k) counter[12 + k] = static_cast<std::uint8_t>(low >> (24 - 8 * k));
            counters.insert(counters.end(), counter.begin(), counter.end());
        }
        const Bytes stream = *oracle::evp("ECB", true, key_, {}, counters);
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>(text[i] ^ stream[i]);
        return text;
    }
    Block digest(Bytes text) const {
        text.resize((text.size() + 15) / 16 * 16);
        FieldElement y;
        for (std::size_t i = 0; i < text.size(); i += 16) {
            y = multiply(y ^ load_element(to_block(slice(text, i, 16))), h_);
        }
        return store_element(y);
    }
    Block tag(const Block& j0, const Bytes& ciphertext, const Bytes& aad) const {
        Bytes x = reference::gcm::padded(aad);
        const Bytes c = reference::gcm::padded(ciphertext);
        x.insert(x.end(), c.begin(), c.end());
        const Block lengths = store_element({8 * aad.size(), 8 * ciphertext.size()});
        x.insert(x.end(), lengths.begin(), lengths.end());
        return store_element(load_element(digest(x)) ^ load_element(ecb(Bytes(j0.begin(), j0.end()))));
    }

private:
    Block ecb(const Bytes& block) const { return to_block(*oracle::evp("ECB", true, key_, {}, block)); }

    Bytes key_;
    FieldElement h_;
};

class Gcm : public testing::TestWithParam<NamedBackend> {
protected:
    void SetUp() override {
        if (!GetParam().backend->usable()) GTEST_SKIP() << why_not(GetParam());
        lane_ = GetParam().backend->open_lane(GetParam().backend->info().front().device, 0);
    }

    /// Compares one run with the expected result. `j0` belongs to the first segment. The values for later segments
    /// differ in their first bytes.
    void check(Direction direction, const Bytes& key_bytes, Block j0, const Shape& shape, const Bytes& source) {
        for (const bool public_counters : {true, false}) {
            if (!HasFailure()) check(direction, key_bytes, j0, public_counters, shape, source);
        }
    }
    void check(Direction direction, const Bytes& key_bytes, Block j0, bool public_counters, const Shape& shape,
               const Bytes& source) {
        const std::size_t input_stride = shape.segment + shape.input_gap;
        const std::size_t output_stride = shape.placement.in_place ? input_stride : shape.segment + shape.output_gap;
        const auto extent = [&](std::size_t stride) { return (shape.count - 1) * stride + shape.last; };
        const std::size_t input_bytes = extent(input_stride), output_bytes = extent(output_stride);
        ASSERT_LE(input_bytes, source.size());
        const Bytes aad(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(shape.aad));

        const ExpandedKey key(key_bytes);
        const Expectation expectation(key_bytes);
        GuardedBuffer in(input_bytes, shape.placement.input_shift);
        GuardedBuffer out(shape.hash_only ? 0 : output_bytes, shape.placement.output_shift);
        GuardedBuffer results(16 * shape.count, 0);
        std::copy_n(source.begin(), input_bytes, in.data());
        std::vector<Block> j0s;
        for (std::size_t i = 0; i < shape.count; ++i) {
            j0s.push_back(j0);
            j0s.back()[i % 12] = static_cast<std::uint8_t>(j0[i % 12] + i);
        }
        std::uint8_t* const output = shape.hash_only ? nullptr : (shape.placement.in_place ? in.data() : out.data());
        kernels().run_gcm({.direction = direction,
                           .key = &key,
                           .input = in.data(),
                           .output = output,
                           .count = shape.count,
                           .segment_bytes = shape.segment,
                           .last_bytes = shape.last,
                           .input_stride = input_stride,
                           .output_stride = output_stride,
                           .j0 = shape.hash_only ? nullptr : j0s.data(),
                           .first_block = shape.first_block,
                           .beyond_caches = shape.beyond_caches,
                           .public_counters = public_counters,
                           .result = shape.result,
                           .aad_digest = expectation.digest(aad),
                           .aad_bytes = aad.size(),
                           .results = reinterpret_cast<Block*>(results.data())});

        SCOPED_TRACE(std::string(direction == Direction::encrypt ? "encryption" : "decryption") +
                     (shape.hash_only ? ", hash only" : "") + ", key of " + std::to_string(key_bytes.size()) +
                     " bytes, " + std::to_string(shape.count) + " segments of " + std::to_string(shape.segment) +
                     ", the last of " + std::to_string(shape.last) + ", aad " + std::to_string(shape.aad) +
                     (shape.placement.in_place ? ", in place" : "") + (public_counters ? "" : ", secret counters"));
        for (std::size_t i = 0; i < shape.count; ++i) {
            const std::size_t bytes = i + 1 == shape.count ? shape.last : shape.segment;
            const Bytes text = slice(source, i * input_stride, bytes);
            Bytes ciphertext = text;
            if (!shape.hash_only) {
                const Bytes other = expectation.with_key_stream(j0s[i], shape.first_block, text);
                if (direction == Direction::encrypt) ciphertext = other;
                const Bytes actual(output + i * output_stride, output + i * output_stride + bytes);
                const auto wrong = std::mismatch(actual.begin(), actual.end(), other.begin());
                ASSERT_TRUE(actual == other)
                    << "segment " << i << ", first wrong byte " << wrong.first - actual.begin();
            }
            const Block expected = shape.result == GcmRun::Result::tag ? expectation.tag(j0s[i], ciphertext, aad)
                                                                       : expectation.digest(ciphertext);
            ASSERT_EQ(to_block(slice(results.contents(), 16 * i, 16)), expected) << "result of segment " << i;
        }
        EXPECT_TRUE(in.guards_intact());
        EXPECT_TRUE(out.guards_intact());
        EXPECT_TRUE(results.guards_intact());
        if (!shape.placement.in_place) {
            EXPECT_TRUE(in.contents() == slice(source, 0, input_bytes)) << "the input was changed";
        }
    }

    StretchLane& kernels() { return dynamic_cast<StretchLane&>(*lane_); }

    std::unique_ptr<Lane> lane_;
};

Block j0_of_usual_iv(std::uint32_t seed) {
    Block j0 = to_block(random_bytes(16, seed));
    j0[12] = j0[13] = j0[14] = 0;
    j0[15] = 1;
    return j0;
}

Block j0_before_wrap(std::uint32_t blocks) {
    Block j0 = to_block(random_bytes(16, 77));
    j0[12] = j0[13] = j0[14] = j0[15] = 0xff;
    j0[14] = static_cast<std::uint8_t>(j0[14] - (blocks >> 8));
    j0[15] = static_cast<std::uint8_t>(j0[15] - (blocks & 0xff));
    return j0;
}

constexpr Direction both_directions[] = {Direction::encrypt, Direction::decrypt};
constexpr GcmRun::Result both_results[] = {GcmRun::Result::digest, GcmRun::Result::tag};

TEST_P(Gcm, EveryShortLength) {
    const Bytes source = random_bytes(1100, 1);
    for (std::size_t length = 0; length <= 1100; ++length) {
        const auto seed = static_cast<std::uint32_t>(length);
        const Bytes key = random_bytes(key_lengths[length % 3], seed);
        for (const Direction direction : both_directions) {
            for (const auto result : both_results) {
                const Block j0 = (length / 3) % 2 == 0 ? j0_of_usual_iv(seed) : to_block(random_bytes(16, seed));
                check(direction, key, j0,
                      {.segment = length,
                       .last = length,
                       .aad = length % 5 * 9,
                       .result = result,
                       .placement = {length % 17, length % 13, length % 2 != 0}},
                      source);
                if (HasFailure()) return;
            }
        }
        check(Direction::encrypt, key, {},
              {.segment = length, .last = length, .hash_only = true, .placement = {length % 17, 0, false}}, source);
        if (HasFailure()) return;
    }
}

TEST_P(Gcm, EveryKeyLengthRoundBoundariesOfGroups) {
    const Bytes source = random_bytes(70000, 2);
    std::uint32_t seed = 0;
    for (const std::size_t boundary : {1024u, 2048u, 4096u, 8192u, 12288u, 16384u, 32768u, 65536u}) {
        for (const int offset :
             {-65, -64, -33, -32, -17, -16, -15, -1, 0, 1, 15, 16, 17, 31, 32, 63, 64, 65, 260, 1029}) {
            const auto length = static_cast<std::size_t>(static_cast<int>(boundary) + offset);
            for (const Direction direction : both_directions) {
                ++seed;
                const bool in_place = seed % 2 != 0;
                check(direction, random_bytes(key_lengths[seed % 3], seed), j0_of_usual_iv(seed),
                      {.segment = length,
                       .last = length,
                       .aad = seed % 40,
                       .result = both_results[seed / 3 % 2],
                       .placement = {seed % 65, seed % 33, in_place}},
                      source);
                check(direction, random_bytes(key_lengths[seed % 3], seed), {},
                      {.segment = length, .last = length, .hash_only = true, .placement = {seed % 65, 0, in_place}},
                      source);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(Gcm, Segments) {
    const Bytes source = random_bytes(200000, 3);
    std::uint32_t seed = 0;
    for (const std::size_t segment : {1u, 16u, 63u, 64u, 255u, 256u, 1000u, 1024u, 1500u, 4096u, 5000u, 20000u}) {
        for (const std::size_t count : {2u, 3u, 7u}) {
            for (const std::size_t missing : {std::size_t{0}, std::size_t{1}, segment / 2, segment}) {
                for (const std::size_t gap : {0u, 16u, 5u}) {
                    ++seed;
                    check(both_directions[seed % 2], random_bytes(key_lengths[seed % 3], seed),
                          seed % 4 < 2 ? j0_of_usual_iv(seed) : to_block(random_bytes(16, seed)),
                          {.count = count,
                           .segment = segment,
                           .last = segment - missing,
                           .input_gap = gap,
                           .output_gap = seed % 5 == 0 ? 0 : 21 - gap,
                           .aad = seed % 7 == 0 ? 0 : seed % 29,
                           .result = both_results[seed % 3 == 0],
                           .placement = {seed % 31, seed % 18, seed % 7 < 3}},
                          source);
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(Gcm, HashesOfManySegments) {
    const Bytes source = random_bytes(50000, 4);
    for (const std::size_t segment : {5u, 16u, 100u, 1024u, 1500u}) {
        check(Direction::decrypt, random_bytes(16, 1), {},
              {.count = 9, .segment = segment, .last = segment - 3, .input_gap = 7, .hash_only = true}, source);
    }
}

// Tests texts that are so long that a GPU's hash has several levels with several chunks each.
TEST_P(Gcm, LongMessagesAndManySegments) {
    const Bytes source = random_bytes(700100, 8);
    for (const std::size_t misalignment : {0u, 3u}) {
        check(Direction::encrypt, random_bytes(16, 1), j0_of_usual_iv(1),
              {.segment = 700001,
               .last = 700001,
               .aad = 20,
               .result = GcmRun::Result::tag,
               .placement = {misalignment, 0, misalignment == 0}},
              source);
        check(Direction::decrypt, random_bytes(32, 1), j0_before_wrap(20000),
              {.count = 130,
               .segment = 4000 + misalignment,
               .last = 3217,
               .input_gap = 16,
               .aad = 1,
               .result = GcmRun::Result::tag,
               .placement = {misalignment, 1, misalignment != 0}},
              source);
    }
}

TEST_P(Gcm, NoSegments) {
    const ExpandedKey key(random_bytes(16, 1));
    kernels().run_gcm({.direction = Direction::encrypt, .key = &key, .input = nullptr, .output = nullptr, .count = 0});
}

TEST_P(Gcm, StretchesOfAMessage) {
    const Bytes source = random_bytes(70001, 5);
    std::uint32_t seed = 0;
    for (const std::uint64_t first_block : {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{254}, std::uint64_t{255},
                                            std::uint64_t{4097}, std::uint64_t{65534}, (std::uint64_t{1} << 32) - 2}) {
        for (const std::size_t length : {1u, 16u, 100u, 513u, 4096u, 16385u, 70001u}) {
            for (const Direction direction : both_directions) {
                ++seed;
                check(direction, random_bytes(key_lengths[seed % 3], seed),
                      seed % 2 != 0 ? j0_of_usual_iv(seed) : to_block(random_bytes(16, seed)),
                      {.segment = length,
                       .last = length,
                       .first_block = first_block,
                       .placement = {seed % 9, seed % 5, seed % 3 == 0}},
                      source);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(Gcm, TheCounterWrapsWithoutACarry) {
    const Bytes source = random_bytes(70001, 6);
    std::uint32_t seed = 0;
    for (std::uint32_t before = 0; before <= 1100; before += before < 70 ? 1 : 103) {
        for (const std::size_t length : {33u, 300u, 1500u, 5000u, 70001u}) {
            ++seed;
            check(both_directions[seed % 2], random_bytes(key_lengths[seed % 3], seed), j0_before_wrap(before),
                  {.segment = length,
                   .last = length,
                   .aad = seed % 20,
                   .result = both_results[seed / 2 % 2],
                   .placement = {0, seed % 5, seed % 3 == 0}},
                  source);
            if (HasFailure()) return;
        }
    }
}

TEST_P(Gcm, CarriesIntoEachByteOfTheCounter) {
    const Bytes source = random_bytes(70001, 7);
    for (const unsigned byte : {13u, 14u, 15u}) {
        for (const unsigned before : {0u, 1u, 3u, 15u, 16u, 60u}) {
            Block j0 = to_block(random_bytes(16, byte));
            j0[12] = 0x12;
            for (unsigned k = byte; k < 16; ++k) j0[k] = 0xff;
            j0[15] = static_cast<std::uint8_t>(j0[15] - before);
            for (const std::size_t length : {100u, 1030u, 5000u, 70001u}) {
                check(Direction::encrypt, random_bytes(16, before), j0, {.segment = length, .last = length}, source);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(Gcm, OfTextBeyondTheCaches) {
    const Bytes source = random_bytes(100'000, 12);
    std::uint32_t seed = 0;
    for (std::size_t shift = 0; shift < 64; shift += shift % 16 == 15 || shift % 16 == 0 ? 1 : 7) {
        for (const std::size_t length : {65535u, 65536u, 66600u, 67000u, 99'999u}) {
            for (const Direction direction : both_directions) {
                ++seed;
                const auto result = both_results[seed / 2 % 2];
                const std::uint64_t first_block = result == GcmRun::Result::tag ? 0 : seed % 5 * 61;
                check(direction, random_bytes(key_lengths[seed % 3], seed),
                      seed / 4 % 2 == 0 ? j0_before_wrap(50 * seed) : j0_of_usual_iv(seed),
                      {.segment = length,
                       .last = length,
                       .first_block = first_block,
                       .aad = seed % 20,
                       .result = result,
                       .placement = {seed % 33, shift, false},
                       .beyond_caches = true},
                      source);
                if (HasFailure()) return;
            }
        }
    }
    const Bytes longer = random_bytes(300'000, 14);
    for (const Direction direction : both_directions) {
        check(direction, random_bytes(24, 14), j0_of_usual_iv(14),
              {.count = 3,
               .segment = 90'000,
               .last = 89'001,
               .input_gap = 32,
               .output_gap = 48,
               .result = GcmRun::Result::tag,
               .placement = {3, 16, false},
               .beyond_caches = true},
              longer);
    }
}

// Tests messages that need several tables of counters, because a table is used for at most 65,536 blocks.
TEST_P(Gcm, SeveralMebibytes) {
    const Bytes source = random_bytes((std::size_t{5} << 19) + 77, 8);
    for (const Direction direction : both_directions) {
        for (const Block& j0 : {j0_of_usual_iv(9), j0_before_wrap(100000), to_block(random_bytes(16, 9))}) {
            for (const bool beyond_caches : {false, true}) {
                check(direction, random_bytes(32, 10), j0,
                      {.segment = source.size(), .last = source.size(), .beyond_caches = beyond_caches}, source);
            }
        }
    }
}

// The tests above compute the expected result with arithmetic of the library. This test uses an independent reference.
TEST_P(Gcm, AgreesWithTheReferenceAndWithLibcryptosGcm) {
    for (std::size_t length = 0; length <= 400; length += length < 80 ? 1 : 29) {
        const auto seed = static_cast<std::uint32_t>(length);
        const Bytes key_bytes = random_bytes(key_lengths[length % 3], seed), text = random_bytes(length, seed + 1);
        const Bytes iv = random_bytes(length % 4 == 0 ? 12 : 1 + length % 70, seed + 2);
        const Bytes aad = random_bytes(length * 7 % 90, seed + 3);
        const reference::Aes aes(key_bytes);
        const Block j0 = reference::gcm::j0(aes, iv);
        const auto expected = reference::gcm::encrypt(aes, j0, text, aad);
        const Bytes sealed = oracle::evp_gcm(key_bytes, iv, text, aad);
        ASSERT_EQ(slice(sealed, 0, length), expected.c);
        ASSERT_EQ(to_block(slice(sealed, length, 16)), expected.t);

        const ExpandedKey key(key_bytes);
        Block aad_digest{}, tag{};
        kernels().run_gcm({.direction = Direction::encrypt,
                           .key = &key,
                           .input = aad.data(),
                           .output = nullptr,
                           .segment_bytes = aad.size(),
                           .last_bytes = aad.size(),
                           .results = &aad_digest});
        for (const Direction direction : both_directions) {
            Bytes buffer = direction == Direction::encrypt ? text : expected.c;
            kernels().run_gcm({.direction = direction,
                               .key = &key,
                               .input = buffer.data(),
                               .output = buffer.data(),
                               .segment_bytes = length,
                               .last_bytes = length,
                               .j0 = &j0,
                               .public_counters = iv.size() == gcm_nonce_bytes,
                               .result = GcmRun::Result::tag,
                               .aad_digest = aad_digest,
                               .aad_bytes = aad.size(),
                               .results = &tag});
            ASSERT_EQ(buffer, direction == Direction::encrypt ? expected.c : text) << length;
            ASSERT_EQ(tag, expected.t) << length;
        }
    }
}

/// Tests the code for messages that the calling thread processes directly. Every length has a different last group of
/// vectors.
TEST_P(Gcm, ShortWayAtEveryLength) {
    std::vector<std::size_t> lengths;
    for (std::size_t n = 0; n <= 1700; ++n) lengths.push_back(n);
    for (const std::size_t n : {2047u, 2048u, 2049u, 2559u, 4000u, 4095u, 4608u, 20'001u}) lengths.push_back(n);
    for (const bool has_table : {false, true}) {  // a key receives a first-round table once the table pays off
        for (const std::size_t length : lengths) {
            const auto seed = static_cast<std::uint32_t>(length);
            const Bytes key_bytes = random_bytes(key_lengths[length % 3], seed), iv = random_bytes(12, seed + 1);
            const Bytes text = random_bytes(length, seed + 2), aad = random_bytes(length % 7 * 5, seed + 3);
            const ExpandedKey key(key_bytes);
            const auto enough = has_table ? std::uint64_t{1} << 30 : std::uint64_t{0};
            ASSERT_EQ(key.first_round_if_worth(enough) != nullptr, has_table);
            const Bytes sealed = oracle::evp_gcm(key_bytes, iv, text, aad);
            for (const Direction direction : both_directions) {
                const ShortFunction function = GetParam().backend->short_function(Mode::gcm, direction, key.rounds());
                if (function == nullptr) GTEST_SKIP() << "this backend has no short path; other backends do";
                const bool encrypts = direction == Direction::encrypt, in_place = length % 2 != 0;
                GuardedBuffer in(length, length % 17), out(length, length % 13), tag(16, 0);
                std::copy_n(encrypts ? text.begin() : sealed.begin(), length, in.data());
                if (!encrypts) std::copy_n(sealed.end() - 16, 16, tag.data());
                const ShortMessage message{
                    .mode = Mode::gcm,
                    .direction = direction,
                    .key = &key,
                    .round_keys = reinterpret_cast<const std::uint8_t*>(key.encrypt().words.data()),
                    .iv = iv.data(),
                    .input = in.data(),
                    .output = in_place ? in.data() : out.data(),
                    .length = length,
                    .aad = aad.data(),
                    .aad_length = aad.size(),
                    .tag = tag.data(),
                    .tag_length = 16};
                ASSERT_TRUE(function(message)) << length;
                const Bytes made = (in_place ? in : out).contents();
                ASSERT_EQ(made, encrypts ? slice(sealed, 0, length) : text) << length;
                ASSERT_EQ(tag.contents(), slice(sealed, length, 16)) << length;
                ASSERT_TRUE(in.guards_intact() && out.guards_intact() && tag.guards_intact()) << length;
                tag.data()[length % 16] ^= 0x10;
                if (!encrypts && !in_place) {
                    ASSERT_FALSE(function(message)) << length;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Gcm, testing::ValuesIn(tested_backends()),
                         [](const auto& info) { return std::string(info.param.label); });

}  // namespace
}  // namespace warpaes::test
