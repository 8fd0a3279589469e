// Compares the arithmetic of aes/ghash.hpp with a readable implementation.
#include "aes/ghash.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cpu_backends.hpp"
#include "reference.hpp"

namespace warpaes::test {
namespace {

FieldElement random_element(std::uint32_t seed) {
    return load_element(to_block(random_bytes(16, seed)));
}

FieldElement single_bit(unsigned i) {
    return i < 64 ? FieldElement{std::uint64_t{1} << (63 - i), 0} : FieldElement{0, std::uint64_t{1} << (127 - i)};
}

FieldElement product_by_reference(FieldElement a, FieldElement b) {
    return load_element(reference::gcm::multiply(store_element(a), store_element(b)));
}

static_assert(multiply(field_one, FieldElement{1, 2}) == FieldElement{1, 2});
static_assert(times_x(field_one) == FieldElement{std::uint64_t{1} << 62, 0});

TEST(Ghash, ElementsAreBlocks) {
    const Block block = to_block(random_bytes(16, 1));
    EXPECT_EQ(store_element(load_element(block)), block);
}

TEST(Ghash, EverySingleBitTimesEveryOther) {
    for (unsigned i = 0; i < 128; ++i) {
        for (unsigned j = 0; j < 128; ++j) {
            ASSERT_EQ(multiply(single_bit(i), single_bit(j)), product_by_reference(single_bit(i), single_bit(j)))
                << i << " " << j;
        }
        EXPECT_EQ(square(single_bit(i)), product_by_reference(single_bit(i), single_bit(i)));
        EXPECT_EQ(times_x(single_bit(i)), product_by_reference(single_bit(i), single_bit(1)));
    }
}

TEST(Ghash, AllOnesAndRandomElements) {
    const FieldElement ones{~std::uint64_t{0}, ~std::uint64_t{0}};
    EXPECT_EQ(multiply(ones, ones), product_by_reference(ones, ones));
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        const FieldElement a = random_element(seed), b = random_element(seed + 5000);
        ASSERT_EQ(multiply(a, b), product_by_reference(a, b));
        ASSERT_EQ(square(a), product_by_reference(a, a));
        ASSERT_EQ(multiply(a, ones), product_by_reference(a, ones));
    }
}

TEST(Ghash, PowersAndInverses) {
    const FieldElement e = random_element(3);
    FieldElement expected = field_one;
    for (std::uint64_t n = 0; n <= 300; ++n, expected = multiply(expected, e)) ASSERT_EQ(power(e, n), expected) << n;
    EXPECT_EQ(power(e, (std::uint64_t{1} << 36) + 5), multiply(power(power(e, 1u << 18), 1u << 18), power(e, 5)));
    EXPECT_EQ(power(e, ~std::uint64_t{0}),
              multiply(power(power(e, 1u << 31), std::uint64_t{1} << 32), power(e, (std::uint64_t{1} << 63) - 1)));
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        const FieldElement a = random_element(seed);
        EXPECT_EQ(multiply(a, inverse(a)), field_one);
    }
    EXPECT_EQ(inverse(FieldElement{}), FieldElement{});
    EXPECT_EQ(inverse(field_one), field_one);
}

TEST(Ghash, PartsMakeTheWhole) {
    const Block h = to_block(random_bytes(16, 4));
    for (const std::size_t first : {0u, 16u, 48u}) {
        for (const std::size_t second : {0u, 1u, 16u, 33u, 160u}) {
            const Bytes message = random_bytes(first + second, 5);
            const auto cut = message.begin() + static_cast<std::ptrdiff_t>(first);
            const auto digest = [&](const Bytes& part) {
                return load_element(reference::gcm::ghash(h, reference::gcm::padded(part)));
            };
            EXPECT_EQ(
                join_digests(load_element(h), digest({message.begin(), cut}), digest({cut, message.end()}), second),
                digest(message))
                << first << " " << second;
        }
    }
}

TEST(Ghash, TheHashKeyHoldsPowersOfH) {
    const Bytes key = random_bytes(32, 6);
    const ExpandedKey expanded(key);
    const HashKey& hash_key = expanded.hash_key();
    const FieldElement h = load_element(reference::Aes(key).cipher(reference::Block{}));
    for (const std::uint64_t n : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 1000u, 1u << 20}) {
        EXPECT_EQ(power(hash_key, n), power(h, n)) << n;
    }
    for (std::size_t i = 0; i < HashKey::count; ++i) {
        EXPECT_EQ(hash_key.powers[i], power(h, i + 1)) << i;
        const HashKey::Element e = hash_key.descending[HashKey::count - 1 - i];
        EXPECT_EQ(times_x(FieldElement{e.high, e.low}), hash_key.powers[i]) << i;
        const HashKey::Element folded = hash_key.folded[HashKey::count - 1 - i];
        EXPECT_EQ(folded.low, e.low ^ e.high) << i;
        EXPECT_EQ(folded.high, folded.low) << i;
    }
}

struct Derived {
    static inline std::atomic<int> made{0};
    std::array<std::uint8_t, 16> bytes;

    static void make(const ExpandedKey& key, Derived& result) {
        ++made;
        std::copy_n(key.bytes().begin(), result.bytes.size(), result.bytes.begin());
    }
};

/// The data that a backend derives from a key is computed once for all threads, belongs to this key, and exists as long
/// as the key.
TEST(Key, KeepsWhatABackendDerives) {
    const Bytes bytes = random_bytes(16, 8);
    const ExpandedKey key(bytes), other(random_bytes(16, 9));
    Derived::made = 0;
    std::vector<const Derived*> seen(8);
    {
        std::vector<std::jthread> threads;
        for (const Derived*& its : seen) threads.emplace_back([&] { its = &key.derived<Derived>(); });
    }
    EXPECT_EQ(Derived::made, 1);
    for (const Derived* its : seen) EXPECT_EQ(its, seen.front());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), seen.front()->bytes.begin()));
    EXPECT_NE(&other.derived<Derived>(), seen.front());
    EXPECT_EQ(Derived::made, 2);
}

}  // namespace
}  // namespace warpaes::test
