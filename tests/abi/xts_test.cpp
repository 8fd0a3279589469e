// Tests XTS messages with NIST's vectors, and compares data units of every kind with libcrypto, unit by unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>

#include "evp_oracle.hpp"
#include "known_answers.hpp"
#include "response_file.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

class Xts : public BackendTest {
protected:
    void SetUp() override {
        BackendTest::SetUp();
        use_keys(32);
    }

    void use_keys(std::size_t bytes) {
        key_bytes_ = random_.bytes(bytes);
        tweak_key_bytes_ = random_.bytes(bytes);
        key_ = make_key(key_bytes_);
        tweak_key_ = make_key(tweak_key_bytes_);
        number_ = random_.bytes(16);
        // The differences between the numbers of consecutive data units; 0 means 1.
        static constexpr std::uint64_t steps[] = {0, 0, 1, 8, 8, 1, 5, 1u << 20};
        step_ = steps[uses_++ % std::size(steps)];
    }

    Call message(warpaes_direction direction, std::size_t unit, const void* input, std::size_t length, void* output,
                 std::size_t capacity) {
        Call m = make_message(WARPAES_XTS, direction, key_, number_, input, length, output, capacity);
        m.tweak_key = tweak_key_.get();
        m.data_unit_len = unit;
        m.data_unit_step = step_;
        return m;
    }

    Bytes wanted(warpaes_direction direction, std::size_t unit, const Bytes& input) {
        return oracle::xts(direction == WARPAES_ENCRYPT, key_bytes_, tweak_key_bytes_, number_,
                           unit != 0 ? unit : input.size(), input, step_ != 0 ? step_ : 1);
    }

    void check(const Engine& engine, std::size_t unit, std::size_t length) {
        use_keys(++turn_ % 2 == 0 ? 16 : 32);
        const Bytes input = random_.bytes(length);
        for (const warpaes_direction direction : directions) {
            SCOPED_TRACE(std::to_string(length) + " bytes in units of " + std::to_string(unit) + ", " +
                         std::to_string(step_) + " apart, keys of " + std::to_string(key_bytes_.size()) +
                         " bytes, direction " + std::to_string(direction));
            const Bytes want = wanted(direction, unit, input);
            for (const bool in_place : {false, true}) {
                PoisonedBuffer in(length, turn_ % 17), out(length, turn_ / 2 % 17);
                in.assign(input);
                Call m = message(direction, unit, in.data(), length, in_place ? in.data() : out.data(), length);
                ASSERT_EQ(crypt(engine, m), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(m.result.output_len, length);
                if (length != 0) {
                    ASSERT_STREQ(m.result.backend, GetParam().c_str());
                }
                const Bytes got = (in_place ? in : out).bytes(length);
                ASSERT_TRUE(got == want) << (in_place ? "in place, " : "") << "first wrong byte: "
                                         << std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
                ASSERT_TRUE(in.intact_after(length) && out.intact_after(in_place ? 0 : length));
            }
        }
    }

    Random random_{90};
    Bytes key_bytes_, tweak_key_bytes_;
    Key key_, tweak_key_;
    Bytes number_;
    std::uint64_t step_ = 0;
    unsigned turn_ = 0, uses_ = 0;
};

/// Runs CAVP's XTSGen vectors. Each vector is one data unit. One set contains the unit's number as a block, the other
/// as a decimal number.
TEST_P(Xts, NistVectors) {
    for (const std::string set : {"tweak-128hexstr", "tweak-dataunitseqno"}) {
        for (const std::string bits : {"128", "256"}) {
            std::size_t ran = 0, skipped = 0;
            for (const auto& record : vectors::read_response_file("xts/" + set + "/XTSGenAES" + bits + ".rsp")) {
                if (std::stoul(record.fields.at("DataUnitLen")) % 8 != 0) {
                    ++skipped;
                    continue;
                }
                if (simulated() && GetParam() == "cuda" && ran++ % 10 != 0) continue;
                const Bytes keys = record.bytes("Key");
                const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
                key_ = make_key(Bytes(keys.begin(), middle));
                tweak_key_ = make_key(Bytes(middle, keys.end()));
                number_ = record.bytes("i");
                if (number_.empty()) {
                    const std::uint64_t number = std::stoull(record.fields.at("DataUnitSeqNumber"));
                    number_ = oracle::later_unit(Bytes(16, 0), number);
                }
                const Bytes input = record.bytes(record.encrypt ? "PT" : "CT");
                PoisonedBuffer output(input.size());
                Call m = message(record.encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT, 0, input.data(), input.size(),
                                 output.data(), input.size());
                ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(output.bytes(input.size()), record.bytes(record.encrypt ? "CT" : "PT"))
                    << set << bits << " COUNT = " << record.fields.at("COUNT");
                ASSERT_TRUE(output.intact_after(input.size()));
            }
            EXPECT_EQ(skipped, bits == "128" ? 200U : 400U);  // AES-128: units of 130 bits; AES-256: 140 and 250 bits
        }
    }
    std::cout << "skipped units that are not whole bytes: 200 of 1000 records for AES-128, 400 of 1000 for AES-256\n";
    if (simulated() && GetParam() == "cuda") std::cout << "simulated GPU: every tenth of the others\n";
}

TEST_P(Xts, StandardsExamples) {
    for (const vectors::XtsExample& e : vectors::xts_examples) {
        key_ = make_key(vectors::from_hex(e.key));
        tweak_key_ = make_key(vectors::from_hex(e.tweak_key));
        number_ = vectors::from_hex(e.number);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            const Bytes input = vectors::from_hex(encrypt ? e.plaintext : e.ciphertext);
            PoisonedBuffer output(input.size());
            Call m = message(direction, 0, input.data(), input.size(), output.data(), input.size());
            ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(output.bytes(input.size()), vectors::from_hex(encrypt ? e.ciphertext : e.plaintext)) << e.name;
        }
    }
}

TEST_P(Xts, OneUnitOfAnySize) {
    const std::size_t step = simulated() ? 37 : 1;
    for (std::size_t length = 16; length <= 1100; length += step) check(engine_, 0, length);
    for (const std::size_t length : {4095U, 4096U, 4097U, 16383U, 65536U, 65551U}) check(engine_, 0, length);
}

TEST_P(Xts, ManyUnits) {
    for (const std::size_t unit : {16U, 17U, 31U, 32U, 48U, 80U, 500U, 512U, 520U, 1024U, 4096U, 4160U}) {
        for (const std::size_t units : {1U, 2U, 7U, 32U, 33U, 65U}) {
            if (simulated() && units * unit > 20000) continue;
            for (const std::size_t rest : {std::size_t{0}, std::size_t{16}, std::size_t{17}, unit - 1}) {
                if (rest < unit && (rest == 0 || rest >= 16)) check(engine_, unit, units * unit + rest);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
    check(engine_, 512, 0);
}

/// The message is longer than a chunk. It is divided between data units, even if a unit is longer than a chunk or its
/// length does not divide the chunk's.
TEST_P(Xts, AcrossChunks) {
    const Engine engine = make_engine(GetParam(), 4096, 2);
    for (const std::size_t unit : {16U, 17U, 512U, 520U, 1000U, 4096U, 4160U, 9000U}) {
        for (const std::size_t rest : {std::size_t{0}, std::size_t{16}}) {
            check(engine, unit, (20000 + unit) / unit * unit + rest * (unit > 16));
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}

TEST_P(Xts, TheDefaultChunks) {
    check(engine_, 1U << 18, (1U << 18) + 17);
    check(engine_, 4096, ((simulated() ? 1U : 5U) << 20) + 16);
    if (simulated() && GetParam() == "cuda") {
        check(engine_, 520, 3000 * 520);
        return check(engine_, 1U << 20, (1U << 20) + 17);
    }
    check(engine_, 520, 10000 * 520);
    check(engine_, 1U << 20, (3U << 20) + 17);
    check(engine_, 1U << 24, (1U << 24) + 100);
}

/// A GPU that starts in the middle of a unit needs high powers of x without computing the lower powers.
TEST_P(Xts, TheLongestUnit) {
    const Bytes input = random_.bytes(1U << 24);
    PoisonedBuffer output(input.size());
    Call m = message(WARPAES_DECRYPT, 0, input.data(), input.size(), output.data(), output.size());
    ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
    EXPECT_TRUE(output.bytes(input.size()) == wanted(WARPAES_DECRYPT, 0, input));
    EXPECT_TRUE(output.intact_after(input.size()));
}

TEST_P(Xts, NumbersCarryAndWrapAround) {
    for (const std::size_t ones : {1U, 4U, 8U, 9U, 15U, 16U}) {
        use_keys(16);
        // Starts two units before the carry out of byte `ones` - 1.
        std::fill(number_.begin(), number_.begin() + static_cast<std::ptrdiff_t>(ones), std::uint8_t{0xff});
        number_[0] = 0xfe;
        const Bytes input = random_.bytes(100 * 48 + 20);
        PoisonedBuffer output(input.size());
        Call m = message(WARPAES_ENCRYPT, 48, input.data(), input.size(), output.data(), output.size());
        ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
        EXPECT_TRUE(output.bytes(input.size()) == wanted(WARPAES_ENCRYPT, 48, input)) << ones;
        EXPECT_EQ(m.result.notes, 0U);
    }
}

/// Tests LUKS2 with sectors of 4096 bytes, which is dm-crypt's default. Data units are numbered in sectors of 512 bytes
/// from the start of the device. Each sector equals libcrypto's result for its number.
TEST_P(Xts, SectorsOf4096CountedIn512) {
    const Bytes disk = random_.bytes(40 * 4096);
    number_ = Bytes(16, 0);
    number_[0] = 0xf8;  // 512-byte sector 0xfff8, which is two units before a carry into the third byte
    number_[1] = 0xff;
    step_ = 8;
    PoisonedBuffer output(disk.size());
    Call m = message(WARPAES_ENCRYPT, 4096, disk.data(), disk.size(), output.data(), output.size());
    ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
    const Bytes sealed = output.bytes(disk.size());
    for (std::size_t i = 0; i < 40; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(4096 * i);
        const Bytes sector(disk.begin() + at, disk.begin() + at + 4096);
        Bytes number(16, 0);
        const std::uint32_t counted = 0xfff8 + 8 * static_cast<std::uint32_t>(i);
        std::memcpy(number.data(), &counted, sizeof counted);
        const Bytes want = oracle::xts(true, key_bytes_, tweak_key_bytes_, number, 4096, sector);
        ASSERT_TRUE(Bytes(sealed.begin() + at, sealed.begin() + at + 4096) == want) << "sector " << i;
    }
}

TEST_P(Xts, RangesOfWholeUnits) {
    for (const std::size_t unit : {32U, 100U, 512U}) {
        const Bytes input = random_.bytes(9 * unit + 20);
        for (const warpaes_direction direction : directions) {
            const Bytes whole = wanted(direction, unit, input);
            for (std::size_t first = 0; first <= 9; first += simulated() ? 4 : 1) {
                for (std::size_t last = first; last <= 10; last += simulated() ? 3 : 1) {
                    const std::size_t offset = first * unit, length = std::min(last * unit, input.size()) - offset;
                    PoisonedBuffer output(length, first);
                    Call m = message(direction, unit, input.data(), input.size(), output.data(), length);
                    m.flags = WARPAES_RANGE;
                    m.range_offset = offset;
                    m.range_len = length;
                    ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
                    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(offset);
                    ASSERT_TRUE(output.bytes(length) == Bytes(from, from + static_cast<std::ptrdiff_t>(length)));
                    ASSERT_TRUE(output.intact_after(length));
                }
            }
        }
    }
}

/// Only the data units of the range are mapped.
TEST_P(Xts, ARangeTouchesOnlyItsUnits) {
    constexpr std::uint64_t size = std::uint64_t{96} << 30, unit = 4096;
    const std::uint64_t offset = std::uint64_t{70} << 30, page = SparseBuffer::page();
    SparseBuffer memory(size, offset, offset + 2 * page);
    const Bytes input = random_.bytes(2 * page);
    std::memcpy(memory.data() + offset, input.data(), input.size());
    PoisonedBuffer output(input.size());
    Call m = message(WARPAES_DECRYPT, unit, memory.data(), size, output.data(), output.size());
    m.flags = WARPAES_RANGE;
    m.range_offset = offset;
    m.range_len = input.size();
    ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
    number_ = oracle::later_unit(number_, offset / unit * (step_ != 0 ? step_ : 1));
    EXPECT_TRUE(output.bytes(input.size()) == wanted(WARPAES_DECRYPT, unit, input));
}

TEST_P(Xts, WrongArguments) {
    const Bytes input = random_.bytes(1024);
    const auto refused = [&](const std::string& what, warpaes_status status, const std::string& named,
                             const std::function<void(warpaes_message&)>& change) {
        SCOPED_TRACE(what);
        PoisonedBuffer output(input.size());
        Call m = message(WARPAES_ENCRYPT, 512, input.data(), input.size(), output.data(), output.size());
        change(m);
        EXPECT_EQ(crypt(engine_, m), status) << warpaes_last_error();
        const std::string sentence = warpaes_last_error();
        EXPECT_NE(sentence.find(named), std::string::npos) << "does not name " << named << ": " << sentence;
        EXPECT_TRUE(output.intact_after(0)) << "the output was touched";
    };
    const Key same = make_key(key_bytes_), shorter = make_key(random_.bytes(16)), middle = make_key(random_.bytes(24)),
              other_middle = make_key(random_.bytes(24));
    Bytes nearly_bytes = key_bytes_;
    nearly_bytes[31] ^= 1;
    const Key nearly = make_key(nearly_bytes);

    PoisonedBuffer output(input.size());
    Call good = message(WARPAES_ENCRYPT, 512, input.data(), input.size(), output.data(), output.size());
    good.tweak_key = nearly.get();
    EXPECT_EQ(crypt(engine_, good), WARPAES_OK) << warpaes_last_error();

    refused("a step", WARPAES_ERROR_ARGUMENT, "data_unit_step",
            [](auto& m) { m.data_unit_step = (std::uint64_t{1} << 20) + 1; });
    refused("no tweak key", WARPAES_ERROR_ARGUMENT, "tweak_key", [](auto& m) { m.tweak_key = nullptr; });
    refused("the same handle", WARPAES_ERROR_ARGUMENT, "tweak_key", [](auto& m) { m.tweak_key = m.key; });
    refused("the same key", WARPAES_ERROR_ARGUMENT, "tweak_key", [&](auto& m) { m.tweak_key = same.get(); });
    refused("another length", WARPAES_ERROR_KEY_LENGTH, "tweak_key", [&](auto& m) { m.tweak_key = shorter.get(); });
    refused("another length", WARPAES_ERROR_KEY_LENGTH, "tweak_key", [&](auto& m) {
        m.tweak_key = m.key;
        m.key = shorter.get();
    });
    refused("AES-192", WARPAES_ERROR_KEY_LENGTH, "AES-192", [&](auto& m) {
        m.key = middle.get();
        m.tweak_key = other_middle.get();
    });
    for (const std::uint64_t unit : {1U, 15U, (1U << 24) + 1}) {
        refused("unit", WARPAES_ERROR_ARGUMENT, "data_unit_len", [&](auto& m) { m.data_unit_len = unit; });
    }
    for (const std::uint64_t length : {1U, 15U, 513U, 527U}) {
        refused("last unit", WARPAES_ERROR_DATA_LENGTH, "input_len", [&](auto& m) { m.input_len = length; });
    }
    for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{15}, (std::uint64_t{1} << 24) + 1}) {
        refused("one unit", WARPAES_ERROR_DATA_LENGTH, "input_len", [&](auto& m) {
            m.data_unit_len = 0;
            m.input_len = length;
        });
    }
    refused("number", WARPAES_ERROR_IV_LENGTH, "iv", [](auto& m) { m.iv_len = 8; });
    refused("capacity", WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity", [](auto& m) { m.output_capacity = 1023; });
    refused("padding", WARPAES_ERROR_ARGUMENT, "flags", [](auto& m) { m.flags = WARPAES_PKCS7; });
    refused("bits", WARPAES_ERROR_ARGUMENT, "flags", [](auto& m) { m.flags = WARPAES_LENGTH_IN_BITS; });
    for (const auto& [offset, length] : {std::pair{16U, 496U}, {0U, 16U}, {0U, 1025U}, {512U, 511U}}) {
        refused("range", WARPAES_ERROR_RANGE, "range", [o = offset, l = length](auto& m) {
            m.flags = WARPAES_RANGE;
            m.range_offset = o;
            m.range_len = l;
        });
    }
    refused("a unit for CTR", WARPAES_ERROR_ARGUMENT, "data_unit_len", [](auto& m) {
        m.mode = WARPAES_CTR;
        m.tweak_key = nullptr;
    });
    refused("a tweak key for CTR", WARPAES_ERROR_ARGUMENT, "tweak_key", [](auto& m) {
        m.mode = WARPAES_CTR;
        m.data_unit_len = 0;
    });
    refused("a step for CTR", WARPAES_ERROR_ARGUMENT, "data_unit_step", [](auto& m) {
        m.mode = WARPAES_CTR;
        m.tweak_key = nullptr;
        m.data_unit_len = 0;
        m.data_unit_step = 8;
    });
}

TEST_P(Xts, NotAsAFile) {
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.mode = WARPAES_XTS;
    job.direction = WARPAES_ENCRYPT;
    job.key = key_.get();
    job.input_path = "/dev/null";
    job.output_path = "/nowhere/at/all";
    EXPECT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("XTS"), std::string::npos) << warpaes_last_error();
}

WARPAES_FOR_EVERY_BACKEND(Xts);

}  // namespace
}  // namespace abi_tests
