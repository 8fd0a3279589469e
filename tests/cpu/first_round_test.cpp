// Compares the first-round table with the S-box as defined in FIPS 197.
#include "aes/first_round.hpp"

#include <gtest/gtest.h>

#include "aes/gf256.hpp"
#include "cpu_backends.hpp"

namespace warpaes::test {
namespace {

TEST(FirstRound, IsTheColumnThatTheLastByteMakes) {
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
        const Bytes key_drawn = random_bytes(key_bytes, static_cast<std::uint32_t>(key_bytes));
        const ExpandedKey key(key_drawn);
        const FirstRound& table = key.first_round();
        for (unsigned j = 0; j < 256; ++j) {
            const std::uint8_t s = sbox[j ^ key_drawn[15]];
            const std::uint8_t s2 = xtime(s);
            const std::uint32_t column = s | static_cast<std::uint32_t>(s) << 8 |
                                         static_cast<std::uint32_t>(s2 ^ s) << 16 |
                                         static_cast<std::uint32_t>(s2) << 24;
            EXPECT_EQ(table.columns[4 * j], column) << j;
            for (unsigned c = 1; c < 4; ++c) EXPECT_EQ(table.columns[4 * j + c], 0u) << j;
        }
    }
}

TEST(FirstRound, IsMadeForAKeyThatHasMuchToDo) {
    const ExpandedKey key(random_bytes(16, 1));
    EXPECT_EQ(key.first_round_if_worth(1), nullptr);
    const FirstRound* const made = key.first_round_if_worth(std::uint64_t{1} << 30);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made, &key.first_round());
    EXPECT_EQ(key.first_round_if_worth(1), &key.first_round());
}

TEST(HashKey, IsMadeForAKeyThatIsUsedAgainAndAgain) {
    const ExpandedKey key(random_bytes(16, 1));
    EXPECT_EQ(key.hash_key_if_worth(1500), nullptr);
    EXPECT_EQ(key.hash_key_if_worth(1500), nullptr);
    const HashKey* made = nullptr;
    for (int i = 0; i < 8 && made == nullptr; ++i) made = key.hash_key_if_worth(1500);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made, &key.hash_key());
    const ExpandedKey other(random_bytes(16, 2));
    const HashKey& its = other.hash_key();
    EXPECT_EQ(other.hash_key_if_worth(1), &its) << "the table already exists";
}

}  // namespace
}  // namespace warpaes::test
