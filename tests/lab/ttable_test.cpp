// Compares the lab's T-table AES with libcrypto.
#include "lab/cpu/ttable.hpp"

#include <gtest/gtest.h>

#include "lab/reference.hpp"

namespace {

using namespace lab;

TEST(TTable, AgreesWithLibcrypto) {
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            const auto key = random_bytes(key_bytes, key_bytes);
            const auto text = random_bytes(257 * 16, 7);
            const auto expected = Reference(Mode::ecb, direction, key).run({}, text);
            const TTableCipher cipher(key, direction);
            for (const std::size_t blocks : {0u, 1u, 2u, 257u}) {
                std::vector<std::uint8_t> output(blocks * 16 + 16, 0xa5);
                cipher.run(text.data(), output.data(), blocks);
                EXPECT_TRUE(std::equal(output.begin(), output.end() - 16, expected.begin())) << key_bytes;
                EXPECT_TRUE(std::all_of(output.end() - 16, output.end(), [](auto b) { return b == 0xa5; }));
            }
            auto in_place = text;
            cipher.run(in_place.data() + 16, in_place.data() + 16, 256);
            EXPECT_TRUE(std::equal(in_place.begin() + 16, in_place.end(), expected.begin() + 16));
            EXPECT_TRUE(std::equal(in_place.begin(), in_place.begin() + 16, text.begin()));
        }
    }
}

TEST(TTable, AnyAlignment) {
    const auto key = random_bytes(16, 1);
    const auto text = random_bytes(16 * 3 + 1, 2);
    const std::span<const std::uint8_t> odd = std::span(text).subspan(1);
    const auto expected = Reference(Mode::ecb, Direction::encrypt, key).run({}, odd);
    std::vector<std::uint8_t> output(16 * 3 + 3, 0xa5);
    TTableCipher(key, Direction::encrypt).run(odd.data(), output.data() + 3, 3);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.begin() + 3));
}

TEST(TTable, OtherKeysAreRefused) {
    EXPECT_THROW(TTableCipher(random_bytes(15, 1), Direction::encrypt), std::invalid_argument);
}

TEST(TTable, PassesOfSharedMemory) {
    const auto key = random_bytes(16, 1);
    std::vector<std::uint8_t> text(512, 0x5a);
    const auto passes = [&](std::span<const std::uint8_t> k) {
        return shared_memory_passes(k, std::span(text).first<512>());
    };
    EXPECT_EQ(passes(key), 9u * 16) << "equal blocks: every lane reads the same word";
    EXPECT_EQ(passes(random_bytes(32, 1)), 13u * 16);
    // One byte differs in one lane, so that its first lookup reads a different word of the same bank.
    text[0] = 0x5a ^ 32;
    EXPECT_GT(passes(key), 9u * 16);
    text = random_bytes(512, 3);
    EXPECT_GT(passes(key), 9u * 16 * 2) << "32 random lanes read more than two words of some bank";
    EXPECT_LT(passes(key), 9u * 16 * 5);
    EXPECT_THROW((void)passes(random_bytes(15, 1)), std::invalid_argument);
}

}  // namespace
