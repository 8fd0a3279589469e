// Compares whole messages in every mode, direction, key size, length and alignment with libcrypto on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "evp_oracle.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::size_t key_sizes[] = {16, 24, 32};

class Message : public BackendTest {
protected:
    /// Runs one message on `engine`, in place or with separate buffers, with the given misalignment and with guards
    /// around all buffers.
    void check(const Engine& engine, warpaes_mode mode, warpaes_direction direction, const Bytes& key_bytes,
               const Bytes& iv, const Bytes& input, bool in_place, std::size_t input_misalignment = 0,
               std::size_t output_misalignment = 0) {
        SCOPED_TRACE(name_of(mode, direction, key_bytes.size()) + ", " + std::to_string(input.size()) + " bytes" +
                     (in_place ? " in place" : "") + ", misaligned by " + std::to_string(input_misalignment) + " and " +
                     std::to_string(output_misalignment));
        const Key key = make_key(key_bytes);
        PoisonedBuffer in(input.size(), input_misalignment);
        PoisonedBuffer out(input.size(), output_misalignment);
        in.assign(input);
        PoisonedBuffer& result = in_place ? in : out;
        Call message = make_message(mode, direction, key, iv, in.data(), input.size(), result.data(), input.size());
        ASSERT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
        ASSERT_EQ(message.result.status, WARPAES_OK);
        ASSERT_EQ(message.result.output_len, input.size());
        if (!input.empty()) {
            ASSERT_STREQ(message.result.backend, GetParam().c_str());
            ASSERT_EQ(message.result.device >= 0, GetParam() == "cuda");
        }
        // ASSERT_EQ would print a megabyte of output.
        const Bytes want = expected(mode, direction, key_bytes, iv, input);
        const Bytes got = result.bytes(input.size());
        const auto differs = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
        ASSERT_TRUE(got == want) << "first wrong byte: " << differs.first - got.begin();
        ASSERT_TRUE(in.intact_after(input.size())) << "wrote outside its input";
        ASSERT_TRUE(out.intact_after(in_place ? 0 : input.size())) << "wrote outside its output";
        ASSERT_TRUE(in_place || in.bytes(input.size()) == input) << "changed its input";
    }

    /// Checks every mode, direction and key size that supports this length, alternately in place and with separate
    /// buffers.
    void check_all(const Engine& engine, std::size_t length, const std::vector<warpaes_mode>& modes) {
        Random random(length);
        bool in_place = false;
        for (const warpaes_mode mode : modes) {
            if (traits(mode).whole_blocks && length % 16 != 0) continue;
            for (const warpaes_direction direction : directions) {
                for (const std::size_t key_bytes : key_sizes) {
                    check(engine, mode, direction, random.bytes(key_bytes), random.bytes(16), random.bytes(length),
                          in_place, random.below(16), random.below(16));
                    ASSERT_FALSE(HasFatalFailure());
                    in_place = !in_place;
                }
            }
        }
    }

    static std::vector<warpaes_mode> modes_but(std::vector<warpaes_mode> without) {
        std::vector<warpaes_mode> modes;
        for (const ModeTraits& mode : all_modes()) {
            if (std::find(without.begin(), without.end(), mode.mode) == without.end()) modes.push_back(mode.mode);
        }
        return modes;
    }
};

TEST_P(Message, ShortLengths) {
    for (const std::size_t length : {0,   1,   2,   15,  16,  17,  31,  32,  33,   47,   48,   64,   127, 128,
                                     129, 255, 256, 257, 272, 511, 512, 513, 1024, 4080, 4095, 4096, 4097}) {
        check_all(engine_, length, modes_but({}));
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(Message, LongLengths) {
    constexpr std::size_t kib_64 = std::size_t{64} << 10;
    constexpr std::size_t mib = std::size_t{1} << 20;
    for (const std::size_t length : {kib_64 - 1, kib_64, kib_64 + 17}) {
        check_all(engine_, length, modes_but({WARPAES_CFB1}));
        ASSERT_FALSE(HasFatalFailure());
    }
    // On a simulated GPU, only one of the following lengths runs, and only in CTR.
    const bool one = simulated() && GetParam() == "cuda";
    const auto modes = one ? std::vector{WARPAES_CTR} : modes_but({WARPAES_CFB1, WARPAES_CFB8});
    for (const std::size_t length : one ? std::vector{mib + 17} : std::vector{mib - 17, mib, mib + 16, mib + 17}) {
        check_all(engine_, length, modes);
        ASSERT_FALSE(HasFatalFailure());
    }
}

/// CFB8 and CFB1 need one block cipher call per byte or bit, so one long message per mode and direction is enough.
TEST_P(Message, LongSegmentedMessages) {
    Random random(8);
    const std::size_t kib = simulated() && GetParam() == "cuda" ? 16 : 256;
    for (const warpaes_direction direction : directions) {
        check(engine_, WARPAES_CFB8, direction, random.bytes(16), random.bytes(16), random.bytes((kib << 10) + 13),
              true);
        check(engine_, WARPAES_CFB1, direction, random.bytes(32), random.bytes(16), random.bytes((kib << 7) + 3), true);
    }
}

/// Tests lengths around multiples of a small chunk, so that several workers share every message.
TEST_P(Message, AroundChunkBorders) {
    for (const std::size_t chunk : {std::size_t{4096}, std::size_t{8192}}) {
        const Engine engine = make_engine(GetParam(), chunk, 3);
        for (const std::size_t chunks : {1U, 2U, 7U}) {
            for (const int offset : {-17, -16, -1, 0, 1, 15, 16, 17}) {
                const std::size_t length = chunks * chunk + static_cast<std::size_t>(offset);
                const bool short_enough = chunks == 2 && !simulated();
                check_all(engine, length, short_enough ? modes_but({}) : modes_but({WARPAES_CFB1}));
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

TEST_P(Message, EveryAlignment) {
    const std::vector<std::size_t> lengths =
        simulated() ? std::vector<std::size_t>{33, 4112} : std::vector<std::size_t>{1, 16, 33, 256, 1025, 4112};
    Random random(16);
    const Bytes key = random.bytes(16);
    const Bytes iv = random.bytes(16);
    for (const std::size_t length : lengths) {
        const Bytes input = random.bytes(length);
        for (const ModeTraits& mode : all_modes()) {
            if (mode.whole_blocks && length % 16 != 0) continue;
            if (mode.mode == WARPAES_CFB1 && length > 300) continue;
            for (const warpaes_direction direction : directions) {
                for (std::size_t misalignment = 0; misalignment < 16; ++misalignment) {
                    check(engine_, mode.mode, direction, key, iv, input, true, misalignment);
                    check(engine_, mode.mode, direction, key, iv, input, false, misalignment,
                          (5 * misalignment + 3) % 16);
                    ASSERT_FALSE(HasFatalFailure());
                }
            }
        }
    }
}

TEST_P(Message, Cfb1OfAnyNumberOfBits) {
    Random random(1);
    const Bytes key_bytes = random.bytes(24);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    std::vector<std::size_t> lengths{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 130, 135, 136, 137, 1000, 2049};
    for (const std::size_t bits : lengths) {
        const Bytes input = random.bytes((bits + 7) / 8);
        for (const warpaes_direction direction : directions) {
            PoisonedBuffer output(input.size());
            Call message =
                make_message(WARPAES_CFB1, direction, key, iv, input.data(), bits, output.data(), output.size());
            message.flags = WARPAES_LENGTH_IN_BITS;
            ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
            ASSERT_EQ(message.result.output_len, bits);
            ASSERT_EQ(output.bytes(output.size()),
                      oracle::evp("CFB1", direction == WARPAES_ENCRYPT, key_bytes, iv, input, false, bits))
                << bits << " bits";
            ASSERT_TRUE(output.intact_after(output.size()));
        }
    }
}

TEST_P(Message, CounterWrapsAround) {
    Random random(38);
    const Bytes key_bytes = random.bytes(32);
    const Key key = make_key(key_bytes);
    struct Case {
        std::uint8_t last_byte;  ///< last byte of an initial counter whose other bits are ones
        std::size_t length;
        bool wraps;
    };
    for (const Case& c : {Case{0xff, 16, false}, Case{0xff, 17, true}, Case{0xfe, 32, false}, Case{0xfe, 33, true},
                          Case{0x00, 4096, false}, Case{0x00, 4097, true}, Case{0x80, 20000, true}}) {
        Bytes iv(16, 0xff);
        iv.back() = c.last_byte;
        const Bytes input = random.bytes(c.length);
        PoisonedBuffer output(c.length);
        Call message = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input.data(), input.size(), output.data(),
                                    output.size());
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(output.bytes(c.length), expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes, iv, input)) << c.length;
        EXPECT_EQ((message.result.notes & WARPAES_NOTE_COUNTER_WRAPPED) != 0, c.wraps) << c.length;

        // The result is the same if the output overwrites the initial counter.
        PoisonedBuffer over(c.length);
        std::copy(iv.begin(), iv.end(), over.data());
        message.iv = over.data();
        message.output = over.data();
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(over.bytes(c.length), output.bytes(c.length)) << c.length;
        EXPECT_EQ((message.result.notes & WARPAES_NOTE_COUNTER_WRAPPED) != 0, c.wraps) << c.length;

        // The limit depends on the end of the range, not on its length.
        for (const std::size_t at : {std::size_t{0}, c.length - 1}) {
            std::uint8_t byte = 0;
            Call range = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input.data(), input.size(), &byte, 1);
            range.flags = WARPAES_RANGE;
            range.range_offset = at;
            range.range_len = 1;
            ASSERT_EQ(crypt(engine_, range), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(byte, output.bytes(c.length)[at]);
            EXPECT_EQ((range.result.notes & WARPAES_NOTE_COUNTER_WRAPPED) != 0, at != 0 && c.wraps) << c.length;
        }
    }
}

/// Tests counters whose carry passes through any number of bytes.
TEST_P(Message, CounterCarriesThroughEveryByte) {
    Random random(39);
    const Bytes key_bytes = random.bytes(16);
    const Key key = make_key(key_bytes);
    for (std::size_t ones = 1; ones <= 16; ++ones) {
        Bytes iv(16, 0x31);
        std::fill(iv.end() - static_cast<std::ptrdiff_t>(ones), iv.end(), std::uint8_t{0xff});
        iv.back() = 0xf5;
        const Bytes input = random.bytes(8192 + 16 * ones + 5);
        EXPECT_TRUE(crypt(engine_, GetParam(), WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input) ==
                    expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes, iv, input))
            << ones << " bytes of ones";
    }
}

/// The input and the output begin or end at an inaccessible page, so that an access outside them crashes.
TEST_P(Message, TouchesNothingOutside) {
    const std::uint64_t page = SparseBuffer::page();
    Random random(5);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    SparseBuffer in(5 * page, page, 4 * page);
    SparseBuffer out(5 * page, page, 4 * page);
    std::vector<std::size_t> lengths{1, 15, 16, 17, 100, 128, 240, 1000, 4096, 8208};
    for (const std::size_t length : lengths) {
        const Bytes input = random.bytes(length);
        for (const ModeTraits& mode : all_modes()) {
            if (mode.whole_blocks && length % 16 != 0) continue;
            if (mode.mode == WARPAES_CFB1 && length > 1000) continue;
            for (const warpaes_direction direction : directions) {
                const Bytes want = expected(mode.mode, direction, key_bytes, iv, input);
                for (const bool at_end : {false, true}) {
                    std::uint8_t* from = in.data() + (at_end ? 4 * page - length : page);
                    std::uint8_t* to = out.data() + (at_end ? 4 * page - length : page);
                    std::memcpy(from, input.data(), length);
                    Call message = make_message(mode.mode, direction, key, iv, from, length, to, length);
                    ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
                    ASSERT_EQ(std::memcmp(to, want.data(), length), 0)
                        << name_of(mode.mode, direction, 16) << " " << length;
                }
            }
        }
    }
}

WARPAES_FOR_EVERY_BACKEND(Message);

}  // namespace
}  // namespace abi_tests
