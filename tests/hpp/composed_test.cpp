// Tests the C++ headers for modes that are composed of other modes, and for the random bit generator.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>
#include <warpaes/drbg.hpp>
#include <warpaes/numbers.hpp>

#include "composed_oracle.hpp"

namespace {

using oracle::Bytes;
using warpaes::Direction;
using warpaes::Mode;

TEST(HppComposed, HandsItsFieldsOn) {
    const warpaes::Engine engine;
    const Bytes k1(16, 1), k2(16, 2), nonce(5, 3), a(7, 4), b(0), text(40, 6);
    const warpaes::Key mac_key(k1), key(k2);
    const std::vector<warpaes_part> parts{{a.data(), a.size()}, {text.data(), 0}};
    Bytes out(40), tag(16);
    (void)engine.crypt({.mode = Mode::siv,
                        .direction = Direction::encrypt,
                        .key = &key,
                        .iv = nonce,
                        .input = text,
                        .output = out,
                        .tag = tag,
                        .mac_key = &mac_key,
                        .aad_list = parts});
    Bytes both = tag;
    both.insert(both.end(), out.begin(), out.end());
    EXPECT_EQ(both, oracle::siv(k1, k2, {a, b, nonce}, text));

    Bytes wrapped(48);
    for (const auto& [mode, padding] : {std::pair{Mode::kw, false}, {Mode::kwp, true}}) {
        const auto result = engine.crypt(
            {.mode = mode, .direction = Direction::encrypt, .key = &key, .input = text, .output = wrapped});
        EXPECT_EQ(result.output_len, 48U);
        EXPECT_EQ(wrapped, oracle::evp_wrap(padding, k2, {}, text));
    }
}

TEST(HppDrbg, GivesWhatItIsSeededFor) {
    const warpaes::Engine engine;
    const Bytes entropy(48, 1), nonce(16, 2), personalization(3, 3);
    const auto make = [&](const Bytes& p) {
        return warpaes::Drbg(engine, {.entropy = entropy, .nonce = nonce, .personalization = p});
    };
    Bytes first(100000), second(100000);
    make(personalization).generate(first);
    warpaes::Drbg again = make(personalization);
    again.generate(second);
    EXPECT_EQ(first, second);
    again.reseed(entropy);
    again.generate(second);
    EXPECT_NE(first, second);
    make({}).generate(second);
    EXPECT_NE(first, second);
    make(personalization).generate(second, personalization);
    EXPECT_NE(first, second);
    make(personalization).generate(second, {}, true);
    EXPECT_NE(first, second);
    warpaes::Drbg seeded_by_the_kernel(engine, {.key_bits = 128, .derivation_function = false});
    seeded_by_the_kernel.generate(first);
    EXPECT_NE(first, second);
    try {
        const warpaes::Drbg none(engine, {.key_bits = 64});
        FAIL();
    } catch (const warpaes::Error& error) {
        EXPECT_STREQ(error.what(), "key_bits: must be 128, 192 or 256, got 64");
    }
}

template <typename T>
concept HasNumbers = requires(const warpaes::Numbers& numbers, std::span<T> output) {
    numbers.template uniform<T>(output);
    numbers.template normal<T>(output);
};
static_assert(HasNumbers<float> && HasNumbers<double>);
static_assert(!HasNumbers<long double> && !HasNumbers<const double> && !HasNumbers<int>, "there is no such format");

TEST(HppNumbers, AreThoseOfTheKey) {
    const warpaes::Engine engine;
    const warpaes::Key key(Bytes(16, 1));
    const std::array<std::uint8_t, 16> counter{7};
    const warpaes::Numbers numbers(engine, key, counter);
    Bytes bits(64);
    numbers.bits(bits);
    std::vector<double> doubles(8), normal(8);
    std::vector<float> floats(16), floats_too(16);
    std::vector<std::uint64_t> integers(4);
    numbers.uniform<double>(doubles);
    numbers.uniform<float>(floats, -2, 2);
    numbers.normal<double>(normal, 5, 0);
    numbers.normal<float>(floats_too);
    numbers.integers(integers, 10, 1);
    for (std::size_t i = 0; i < doubles.size(); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bits.data() + 8 * i, 8);
        EXPECT_EQ(doubles[i], static_cast<double>(word >> 11) * 0x1p-53);
    }
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, bits.data() + 4 * i, 4);
        EXPECT_EQ(floats[i], static_cast<float>(word >> 8) * 0x1p-22F - 2.0F);
    }
    EXPECT_EQ(normal, std::vector<double>(8, 5.0));
    EXPECT_NE(floats_too[0], floats_too[1]);
    EXPECT_EQ(integers, std::vector<std::uint64_t>(4, 10));
    EXPECT_THROW(numbers.fill(WARPAES_UNIFORM_FLOAT32, floats.data(), 3, 0, 1), warpaes::Error);
}

}  // namespace
