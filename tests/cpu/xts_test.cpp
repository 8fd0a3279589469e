// Compares XTS on every CPU backend with libcrypto, unit by unit. Covers unit sizes, stealing, alignment, and carries
// of unit numbers.
#include "aes/xts.hpp"

#include <tuple>

#include "cpu_backends.hpp"
#include "evp_oracle.hpp"

namespace warpaes::test {
namespace {

TEST(Tweak, MultiplicationAgreesWithDoubling) {
    Tweak t{0x0123456789abcdefu, 0xfedcba9876543210u};
    Tweak doubled = t;
    std::size_t k = 0;
    for (std::uint64_t n = 0; n <= 4096; ++n) {
        if (n == std::uint64_t{1} << k) {
            EXPECT_EQ(multiply(t, tweak_powers[k]), doubled) << n;
            EXPECT_EQ(multiply(tweak_powers[k], t), doubled) << n;
            ++k;
        }
        doubled = times_x(doubled);
    }
    EXPECT_EQ(k, 13u);
}

TEST(Tweak, IsLittleEndianAndNumbersCarry) {
    Block block{};
    block[0] = 1;
    block[15] = 0x80;
    EXPECT_EQ(load_tweak(block), (Tweak{1, std::uint64_t{1} << 63}));
    EXPECT_EQ(store_tweak(load_tweak(block)), block);
    EXPECT_EQ(times_x(load_tweak(block)), (Tweak{2 ^ 0x87, 0}));
    EXPECT_EQ(add(Tweak{~std::uint64_t{0}, 7}, 2), (Tweak{1, 8}));
    EXPECT_EQ(add(Tweak{~std::uint64_t{0}, ~std::uint64_t{0}}, 1), (Tweak{0, 0}));
}

TEST(Tweak, UnitsAreStepsApart) {
    EXPECT_EQ(add_units(Tweak{5, 7}, 0, 8), (Tweak{5, 7}));
    EXPECT_EQ(add_units(Tweak{5, 7}, 3, 8), (Tweak{29, 7}));
    EXPECT_EQ(add_units(Tweak{~std::uint64_t{0}, 7}, 1, 8), (Tweak{7, 8}));
    EXPECT_EQ(add_units(Tweak{1, 0}, std::uint64_t{1} << 56, xts_most_step), (Tweak{1, 1u << 12}));
    EXPECT_EQ(add_units(Tweak{}, 0x0012345678abcdefu, 0x54321), (Tweak{0xcbbbbc158ab618cfu, 0x5f}));
}

TEST(Tweak, LengthsOfDataUnits) {
    EXPECT_FALSE(is_xts_unit(0) || is_xts_unit(15) || is_xts_unit((1u << 24) + 1));
    EXPECT_TRUE(is_xts_unit(16) && is_xts_unit(17) && is_xts_unit(1u << 24));
    EXPECT_TRUE(is_whole_units(0, 16) && is_whole_units(1024, 512) && is_whole_units(1040, 512));
    EXPECT_FALSE(is_whole_units(15, 512) || is_whole_units(1039, 512) || is_whole_units(17, 16));
}

class CpuXts : public testing::TestWithParam<std::tuple<NamedBackend, Direction>> {
protected:
    void SetUp() override {
        const NamedBackend& named = std::get<0>(GetParam());
        if (!named.backend->usable()) GTEST_SKIP() << why_not(named);
        lane_ = named.backend->open_lane(-1, 0);
        input_ = random_bytes(100'000, 1);
    }

    void check(std::size_t unit, std::size_t length, const Bytes& number) {
        ++turn_;
        const std::size_t key_length = turn_ % 2 == 0 ? 16 : 32;
        const Bytes key_bytes = random_bytes(key_length, turn_), tweak_key_bytes = random_bytes(key_length, turn_ + 9);
        const bool encrypt = std::get<1>(GetParam()) == Direction::encrypt, in_place = turn_ / 2 % 2 == 0;
        const Bytes message(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(length));
        static constexpr std::uint64_t steps[] = {1, 8, 3, xts_most_step};
        const std::uint64_t step = steps[turn_ / 4 % 4];
        const Bytes expected = oracle::xts(encrypt, key_bytes, tweak_key_bytes, number, unit, message, step);

        const ExpandedKey key(key_bytes), tweak_key(tweak_key_bytes);
        GuardedBuffer in(length, turn_ % 17), out(length, turn_ % 13);
        std::copy(message.begin(), message.end(), in.data());
        const Block first = to_block(number);
        MessageGroup units = stretch_of(Mode::xts, std::get<1>(GetParam()), key, first, in.data(),
                                        in_place ? in.data() : out.data(), length);
        units.tweak_key = &tweak_key;
        units.data_units = {unit, step};
        units.direct = true;
        lane_->run(units);
        SCOPED_TRACE(std::to_string(length) + " bytes in units of " + std::to_string(unit) + ", " +
                     std::to_string(step) + " apart, key of " + std::to_string(key_length) + " bytes" +
                     (in_place ? ", in place" : ""));
        const Bytes actual = (in_place ? in : out).contents();
        const auto wrong = std::mismatch(actual.begin(), actual.end(), expected.begin());
        EXPECT_TRUE(actual == expected) << "first wrong byte: " << wrong.first - actual.begin();
        EXPECT_TRUE(in.guards_intact() && out.guards_intact());
        if (!in_place) {
            EXPECT_TRUE(in.contents() == message) << "the input was changed";
        }
    }

    std::unique_ptr<Lane> lane_;
    Bytes input_;
    std::uint32_t turn_ = 0;
};

/// Covers every remainder after steps of any vector width, with and without stealing.
TEST_P(CpuXts, OneUnitOfAnySize) {
    for (std::size_t bytes = 16; bytes <= 1200; ++bytes) {
        for (int i = 0; i < 4; ++i) check(bytes, bytes, random_bytes(16, static_cast<std::uint32_t>(bytes)));
        if (HasFailure()) return;
    }
    for (const std::size_t bytes : {4095u, 4096u, 4097u, 8192u, 65536u, 65551u, 99'999u}) {
        for (int i = 0; i < 4; ++i) check(bytes, bytes, random_bytes(16, 5));
    }
}

TEST_P(CpuXts, ManyUnitsAndAShorterLast) {
    for (const std::size_t unit : {16u, 17u, 31u, 32u, 48u, 100u, 512u, 520u, 1000u, 4096u, 4160u}) {
        for (const std::size_t units : {1u, 2u, 3u, 4u, 5u, 31u, 32u, 33u, 64u, 65u, 70u}) {
            if (unit * (units + 1) > input_.size()) continue;
            for (const std::size_t rest : {std::size_t{0}, std::size_t{16}, std::size_t{17}, unit - 1}) {
                if (rest >= unit || (rest != 0 && rest < 16)) continue;
                check(unit, unit * units + rest, random_bytes(16, static_cast<std::uint32_t>(unit + units)));
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(CpuXts, NumbersCarryAndWrapAround) {
    for (std::size_t byte = 0; byte <= 16; ++byte) {
        for (const std::uint64_t before : {0u, 1u, 2u, 3u, 5u, 31u, 32u, 33u, 64u}) {
            // The number carries into `byte` after this many units, or wraps at 2^128 if `byte` is 16.
            Bytes number(16, 0);
            if (byte < 16) number[byte] = 1;
            for (std::uint64_t i = 0; i < before; ++i) {
                for (std::size_t b = 0; b < 16 && number[b]-- == 0; ++b) {
                }
            }
            for (int step = 0; step < 4; ++step) {
                check(16, 16 * 80, number);
                check(100, 100 * 80, number);
                turn_ += 2;
            }
            if (HasFailure()) return;
        }
    }
}

/// The longest data unit has more than 2^16 blocks. CTR and GCM use a table of counters for at most 2^16 blocks.
TEST_P(CpuXts, TheLongestUnit) {
    input_ = random_bytes(xts_most_unit + 16, 3);
    check(xts_most_unit, xts_most_unit, random_bytes(16, 4));
    check(xts_most_unit - 5, xts_most_unit - 5, random_bytes(16, 4));
    check(xts_most_unit, xts_most_unit + 16, random_bytes(16, 4));
}

INSTANTIATE_TEST_SUITE_P(All, CpuXts,
                         testing::Combine(testing::ValuesIn(cpu_backends()),
                                          testing::Values(Direction::encrypt, Direction::decrypt)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param).label) +
                                    (std::get<1>(info.param) == Direction::encrypt ? "_encrypt" : "_decrypt");
                         });

}  // namespace
}  // namespace warpaes::test
