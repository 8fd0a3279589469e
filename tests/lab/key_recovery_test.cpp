// Tests the attack on last-round keys with synthetic warps. Their times come from a separate model of bank conflicts.
#include "lab/key_recovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "lab/payload.hpp"
#include "lab/reference.hpp"

namespace lab {
namespace {

TEST(Contention, CountsWhatLanesWaitFor) {
    std::array<std::uint8_t, 32> same{}, banks{}, conflict{};
    for (std::size_t i = 0; i < 32; ++i) {
        banks[i] = static_cast<std::uint8_t>(i);                // one word in each bank
        conflict[i] = static_cast<std::uint8_t>(32 * (i % 8));  // eight words in bank 0
    }
    EXPECT_EQ(contention_of(Contention::banks, same), 1u);
    EXPECT_EQ(contention_of(Contention::banks, banks), 1u);
    EXPECT_EQ(contention_of(Contention::banks, conflict), 8u);
    EXPECT_EQ(contention_of(Contention::words, same), 1u);
    EXPECT_EQ(contention_of(Contention::words, banks), 32u);
    EXPECT_EQ(contention_of(Contention::words, conflict), 8u);
    EXPECT_EQ(contention_of(Contention::lines, banks), 1u);
    EXPECT_EQ(contention_of(Contention::lines, conflict), 8u);
}

/// Counts conflicts with sets, as the manual describes.
unsigned conflicts(const std::array<std::uint8_t, 32>& indices) {
    std::map<unsigned, std::set<unsigned>> words;
    for (const std::uint8_t x : indices) words[x % 32].insert(x);
    std::size_t most = 0;
    for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
    return static_cast<unsigned>(most);
}

TEST(Contention, RandomLookupsAgreeWithSets) {
    for (std::uint64_t seed = 1; seed < 500; ++seed) {
        std::array<std::uint8_t, 32> indices{};
        fill_random(indices, seed);
        if (seed % 3 == 0) {
            for (auto& x : indices) x &= 0xe3;  // few banks, many conflicts
        }
        EXPECT_EQ(contention_of(Contention::banks, indices), conflicts(indices)) << seed;
        const std::set<std::uint8_t> words(indices.begin(), indices.end());
        EXPECT_EQ(contention_of(Contention::words, indices), words.size()) << seed;
        std::set<unsigned> lines;
        for (const std::uint8_t x : indices) lines.insert(x / 32u);
        EXPECT_EQ(contention_of(Contention::lines, indices), lines.size()) << seed;
    }
}

TEST(KeyOfLastRound, InvertsTheSchedule) {
    for (std::uint64_t seed = 1; seed < 50; ++seed) {
        const std::vector<std::uint8_t> key = random_bytes(16, seed);
        const auto words = KeySchedules::expanded(key);
        std::array<std::uint8_t, 16> last{};
        for (std::size_t i = 0; i < 16; ++i) last[i] = static_cast<std::uint8_t>(words[40 + i / 4] >> 8 * (i % 4));
        const auto found = key_of_last_round(last);
        EXPECT_TRUE(std::equal(key.begin(), key.end(), found.begin())) << seed;
    }
    // the last round key in FIPS 197, A.1
    const std::array<std::uint8_t, 16> last{0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89,
                                            0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6};
    EXPECT_EQ(key_of_last_round(last)[0], 0x2b);
    EXPECT_EQ(key_of_last_round(last)[15], 0x3c);
}

/// Synthetic warps with random states before the last round, the ciphertexts, and times that include the last round's
/// conflicts. A conflict takes `leak` clocks.
struct Warps {
    std::vector<std::uint8_t> ciphertexts;
    std::vector<std::uint32_t> times;

    Warps(std::size_t count, std::span<const std::uint8_t> round_key, double leak, double noise) {
        // libcrypto computes the S-box, so the test needs no table for the last round.
        std::array<std::uint8_t, 256> sbox{};
        for (unsigned y = 0; y < 256; ++y) sbox[inverse(y)] = static_cast<std::uint8_t>(y);
        std::mt19937_64 random(count);
        std::normal_distribution<double> other(600, noise);
        for (std::size_t i = 0; i < count; ++i) {
            const std::vector<std::uint8_t> states = random_bytes(512, 77 + i);
            double time = other(random);
            for (std::size_t byte = 0; byte < 16; ++byte) {
                std::array<std::uint8_t, 32> indices{};
                for (std::size_t lane = 0; lane < 32; ++lane) indices[lane] = states[16 * lane + byte];
                time += leak * conflicts(indices);
            }
            times.push_back(static_cast<std::uint32_t>(time));
            for (std::size_t j = 0; j < 512; ++j) {
                ciphertexts.push_back(static_cast<std::uint8_t>(sbox[states[j]] ^ round_key[j % 16]));
            }
        }
    }

    /// Computes the inverse S-box (FIPS 197, 5.3.2): the inverse affine map, followed by the inverse in GF(2^8), which
    /// is computed by exponentiation.
    static std::uint8_t inverse(unsigned y) {
        const auto rotated = [&](unsigned n) { return (y << n | y >> (8 - n)) & 0xff; };
        const auto x = static_cast<std::uint8_t>(rotated(1) ^ rotated(3) ^ rotated(6) ^ 0x05);
        std::uint8_t product = 1;
        for (int i = 0; i < 254; ++i) product = times_in_field(product, x);
        return product;
    }
    static std::uint8_t times_in_field(unsigned a, unsigned b) {
        unsigned product = 0;
        for (; b != 0; b >>= 1) {
            if (b & 1) product ^= a;
            a = a << 1 ^ (a >= 0x80 ? 0x11b : 0);
        }
        return static_cast<std::uint8_t>(product);
    }
};

constexpr std::array<std::uint8_t, 16> round_key{0x13, 0x37, 0x00, 0xff, 0x80, 0x01, 0x5a, 0xa5,
                                                 0x42, 0x99, 0xde, 0xad, 0xbe, 0xef, 0x77, 0xc0};

TEST(KeyRecovery, FindsTheKeyWhereTimesFollowConflicts) {
    const Warps warps(3000, round_key, 2, 6);
    for (const unsigned threads : {1u, 5u}) {
        KeyRecovery recovery(threads);
        const std::size_t half = 1500;
        const std::span<const std::uint8_t> texts = warps.ciphertexts;
        const std::span<const std::uint32_t> times = warps.times;
        recovery.add(texts.first(half * 512), times.first(half));
        recovery.add(texts.subspan(half * 512), times.subspan(half));
        EXPECT_EQ(recovery.traces(), 3000u);
        const auto outcome = recovery.outcome(Contention::banks, round_key);
        EXPECT_EQ(outcome.right, 16u);
        EXPECT_EQ(outcome.key, round_key);
        EXPECT_EQ(outcome.mean_rank, 0);
        // With a wrong model or a wrong key, the attack fails on the same traces.
        EXPECT_LT(recovery.outcome(Contention::lines, round_key).right, 16u);
        std::array<std::uint8_t, 16> other = round_key;
        for (auto& byte : other) byte ^= 0x55;
        EXPECT_EQ(recovery.outcome(Contention::banks, other).right, 0u);
    }
}

TEST(KeyRecovery, FindsNothingWhereTimesDoNot) {
    const Warps warps(3000, round_key, 0, 6);
    KeyRecovery recovery(2);
    recovery.add(warps.ciphertexts, warps.times);
    for (const Contention model : {Contention::banks, Contention::words, Contention::lines}) {
        const auto outcome = recovery.outcome(model, round_key);
        EXPECT_LE(outcome.right, 1u);
        EXPECT_GT(outcome.mean_rank, 72);
        EXPECT_LT(outcome.mean_rank, 183);
    }
}

TEST(KeyRecovery, TimesThatNeverVaryRankNothing) {
    Warps warps(50, round_key, 0, 6);
    for (auto& time : warps.times) time = 700;
    KeyRecovery recovery(1);
    recovery.add(warps.ciphertexts, warps.times);
    const auto outcome = recovery.outcome(Contention::banks, round_key);
    EXPECT_EQ(outcome.right, 0u);
    EXPECT_EQ(outcome.mean_rank, 127.5);
    EXPECT_THROW(recovery.add(warps.ciphertexts, std::span(warps.times).first(3)), std::invalid_argument);
}

}  // namespace
}  // namespace lab
