// Compares <warpaes/device.cuh> with the standards and libcrypto. The same tests run on a real GPU and on the simulated
// GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "../why_skipped.hpp"
#include "evp_oracle.hpp"
#include "kernels.hpp"
#include "known_answers.hpp"
#include "response_file.hpp"

namespace device_test {
namespace {

constexpr int key_lengths[] = {16, 24, 32};

/// Returns the same bytes in every run.
Bytes random_bytes(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    Bytes bytes(n);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return bytes;
}

Bytes slice(const Bytes& bytes, std::size_t offset, std::size_t n) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(n)};
}

Bytes ecb(const Bytes& key, const Bytes& blocks, bool encrypt = true) {
    return *oracle::evp("ECB", encrypt, key, {}, blocks);
}

/// Returns blocks of the CTR key stream.
Bytes ctr(const Bytes& key, const Bytes& counter, std::size_t blocks) {
    return *oracle::evp("CTR", true, key, counter, Bytes(16 * blocks));
}

/// Returns the sum of a 128-bit big-endian number and n.
Bytes plus(Bytes counter, std::uint64_t n) {
    for (std::size_t i = 16; i-- > 0;) {
        n += counter[i];
        counter[i] = static_cast<std::uint8_t>(n);
        n >>= 8;
    }
    return counter;
}

class DeviceCuh : public testing::Test {
protected:
    void SetUp() override {
        if (const char* const why = no_gpu()) GTEST_SKIP() << warpaes::test::needs_gpu(why);
    }

    /// Returns the table counts that fit in this GPU's shared memory.
    static std::vector<int> table_counts() {
        std::vector<int> counts{1};
        for (const int count : {2, 4}) {
            if (static_cast<unsigned>(count) * 32 * 1024 <= shared_memory()) counts.push_back(count);
        }
        return counts;
    }
};

TEST_F(DeviceCuh, Fips197AppendixC) {
    ASSERT_EQ(vectors::fips_197_appendix_c.size(), 3U);
    for (const auto& example : vectors::fips_197_appendix_c) {
        const Bytes key = vectors::from_hex(example.key), plain = vectors::from_hex(example.plaintext),
                    cipher = vectors::from_hex(example.ciphertext);
        const int key_bytes = static_cast<int>(key.size());
        for (const int tables : table_counts()) {
            EXPECT_EQ(encrypt(tables, key, plain), cipher) << example.section << ", tables: " << tables;
            EXPECT_EQ(decrypt(tables, key, cipher), plain) << example.section << ", tables: " << tables;
        }
        EXPECT_EQ(encrypt_fresh(key_bytes, key, plain), cipher) << example.section;
        EXPECT_EQ(decrypt_fresh(key_bytes, key, cipher), plain) << example.section;
        Bytes many, expected;
        for (int i = 0; i < 1024; ++i) {
            many.insert(many.end(), plain.begin(), plain.end());
            expected.insert(expected.end(), cipher.begin(), cipher.end());
        }
        EXPECT_EQ(encrypt_planes(key, many), expected) << example.section;
    }
}

/// Compares the expanded keys with FIPS 197, appendix A, word by word.
TEST_F(DeviceCuh, Fips197AppendixA) {
    const std::vector<std::pair<std::string, std::string>> examples{
        {"2b7e151628aed2a6abf7158809cf4f3c",
         "2b7e151628aed2a6abf7158809cf4f3ca0fafe1788542cb1"
         "23a339392a6c7605f2c295f27a96b9435935807a7359f67f"
         "3d80477d4716fe3e1e237e446d7a883bef44a541a8525b7f"
         "b671253bdb0bad00d4d1c6f87c839d87caf2b8bc11f915bc"
         "6d88a37a110b3efddbf98641ca0093fd4e54f70e5f5fc9f3"
         "84a64fb24ea6dc4fead27321b58dbad2312bf5607f8d292f"
         "ac7766f319fadc2128d12941575c006ed014f9a8c9ee2589"
         "e13f0cc8b6630ca6"},
        {"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
         "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"
         "fe0c91f72402f5a5ec12068e6c827f6b0e7a95b95c56fec2"
         "4db7b4bd69b5411885a74796e92538fde75fad44bb095386"
         "485af05721efb14fa448f6d94d6dce24aa326360113b30e6"
         "a25e7ed583b1cf9a27f939436a94f767c0a69407d19da4e1"
         "ec1786eb6fa64971485f703222cb8755e26d135233f0b7b3"
         "40beeb282f18a2596747d26b458c553ea7e1466c9411f1df"
         "821f750aad07d753ca4005388fcc5006282d166abc3ce7b5"
         "e98ba06f448c773c8ecc720401002202"},
        {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
         "603deb1015ca71be2b73aef0857d77811f352c073b6108d7"
         "2d9810a30914dff49ba354118e6925afa51a8b5f2067fcde"
         "a8b09c1a93d194cdbe49846eb75d5b9ad59aecb85bf3c917"
         "fee94248de8ebe96b5a9328a2678a647983122292f6c79b3"
         "812c81addadf48ba24360af2fab8b46498c5bfc9bebd198e"
         "268c3ba709e0421468007bacb2df331696e939e46c518d80"
         "c814e20476a9fb8a5025c02d59c58239de1369676ccc5a71"
         "fa2563959674ee155886ca5d2e2f31d77e0af1fa27cf73c3"
         "749c47ab18501ddae2757e4f7401905acafaaae3e4d59b34"
         "9adf6acebd10190dfe4890d1e6188d0b046df344706c631e"},
    };
    for (const auto& [key_text, words] : examples) {
        const Bytes key = vectors::from_hex(key_text), expected = vectors::from_hex(words);
        const int key_bytes = static_cast<int>(key.size());
        Bytes keys;
        for (int i = 0; i < 32; ++i) keys.insert(keys.end(), key.begin(), key.end());
        for (const Expansion how : {Expansion::host, Expansion::circuit, Expansion::tables}) {
            for (const int tables : table_counts()) {
                const Bytes all = schedules(how, tables, key_bytes, keys);
                ASSERT_EQ(all.size(), 32 * expected.size());
                EXPECT_EQ(slice(all, 0, expected.size()), expected) << key_text << ", way " << static_cast<int>(how);
                EXPECT_EQ(slice(all, 31 * expected.size(), expected.size()), expected) << key_text;
                if (how != Expansion::tables) break;
            }
        }
    }
}

TEST_F(DeviceCuh, SchedulesAreTheSameHoweverTheyAreMade) {
    for (const int key_bytes : key_lengths) {
        const Bytes keys = random_bytes(64U * static_cast<unsigned>(key_bytes), 1);
        const Bytes expected = schedules(Expansion::host, 1, key_bytes, keys);
        EXPECT_EQ(schedules(Expansion::circuit, 1, key_bytes, keys), expected);
        for (const int tables : table_counts()) {
            EXPECT_EQ(schedules(Expansion::tables, tables, key_bytes, keys), expected) << tables;
        }
        EXPECT_EQ(schedules(Expansion::inverse, 1, key_bytes, keys),
                  schedules(Expansion::inverse_on_host, 1, key_bytes, keys));
    }
}

TEST_F(DeviceCuh, BlocksAreThoseOfLibcrypto) {
    for (const int tables : table_counts()) {
        for (const int key_bytes : key_lengths) {
            const Bytes key = random_bytes(static_cast<std::size_t>(key_bytes), 2), plain = random_bytes(16 * 333, 3);
            const Bytes cipher = ecb(key, plain);
            EXPECT_EQ(encrypt(tables, key, plain), cipher) << tables << " tables, " << key_bytes;
            EXPECT_EQ(decrypt(tables, key, cipher), plain) << tables << " tables, " << key_bytes;
        }
    }
}

TEST_F(DeviceCuh, EveryBlockAKeyOfItsOwn) {
    constexpr unsigned n = 130;
    for (const int key_bytes : key_lengths) {
        const auto length = static_cast<std::size_t>(key_bytes);
        const Bytes keys = random_bytes(n * length, 4), plain = random_bytes(16 * n, 5);
        Bytes cipher;
        for (std::size_t i = 0; i < n; ++i) {
            const Bytes block = ecb(slice(keys, i * length, length), slice(plain, 16 * i, 16));
            cipher.insert(cipher.end(), block.begin(), block.end());
        }
        EXPECT_EQ(encrypt_fresh(key_bytes, keys, plain), cipher) << key_bytes;
        EXPECT_EQ(decrypt_fresh(key_bytes, keys, cipher), plain) << key_bytes;
    }
}

/// Any number of warps can fill the tables, in thread blocks of any shape and at any address.
TEST_F(DeviceCuh, TablesAreTheSameWhoeverLoadsThem) {
    const std::vector<Shape> shapes{{1, {32, 1, 1}, 0},  {2, {96, 1, 1}, 0},  {1, {1024, 1, 1}, 0},
                                    {1, {8, 4, 5}, 256}, {1, {16, 8, 1}, 16}, {1, {64, 1, 1}, 128}};
    for (const int tables : table_counts()) {
        for (const bool inverse : {false, true}) {
            const Bytes expected = table_bytes(tables, inverse, {1, {256, 1, 1}, 0});
            for (const Shape& shape : shapes) {
                if (shape.tables_at + expected.size() > shared_memory()) continue;
                const Bytes found = table_bytes(tables, inverse, shape);
                for (unsigned i = 0; i < shape.grid; ++i) {
                    EXPECT_TRUE(slice(found, i * expected.size(), expected.size()) == expected)
                        << tables << " tables, " << shape.threads[0] << " x " << shape.threads[1] << " x "
                        << shape.threads[2] << " threads, at " << shape.tables_at;
                }
            }
            // T0[0] is S(0) * (02, 01, 01, 03) or, for the inverse cipher, S^-1(0) * (0e, 09, 0d, 0b).
            const Bytes first = inverse ? Bytes{0x51, 0xf4, 0xa7, 0x50} : Bytes{0xc6, 0x63, 0x63, 0xa5};
            for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(slice(expected, 4 * lane, 4), first) << lane;
        }
    }
}

TEST_F(DeviceCuh, ThreadBlocksOfAnyShape) {
    const Bytes key = random_bytes(16, 6), plain = random_bytes(16 * 1000, 7), cipher = ecb(key, plain);
    for (const int tables : table_counts()) {
        for (const Shape& shape : {Shape{1, {1024, 1, 1}, 0}, Shape{3, {8, 4, 3}, 48}, Shape{1, {16, 16, 1}, 1024}}) {
            EXPECT_TRUE(encrypt(tables, key, plain, shape) == cipher) << tables << ' ' << shape.threads[0];
            EXPECT_TRUE(decrypt(tables, key, cipher, shape) == plain) << tables << ' ' << shape.threads[0];
        }
    }
}

TEST_F(DeviceCuh, PrgIsCounterModeUnderEveryKey) {
    constexpr unsigned n = 67;
    // The last counter is not a multiple of the number of blocks, so block j cannot be the counter with the bits of j
    // set.
    const std::vector<Bytes> counters{Bytes(16), Bytes(16, 0xfc), random_bytes(16, 8),
                                      vectors::from_hex("000000000000000000000000000000ff")};
    for (const int tables : table_counts()) {
        for (const int key_bytes : key_lengths) {
            const auto length = static_cast<std::size_t>(key_bytes);
            const Bytes keys = random_bytes(n * length, 9);
            for (const unsigned blocks : {1U, 2U, 4U}) {
                for (const Bytes& counter : counters) {
                    Bytes expected;
                    for (std::size_t i = 0; i < n; ++i) {
                        Bytes inputs;
                        for (unsigned j = 0; j < blocks; ++j) {
                            Bytes input = counter;
                            input[15] = static_cast<std::uint8_t>(input[15] ^ j);
                            inputs.insert(inputs.end(), input.begin(), input.end());
                        }
                        const Bytes key = slice(keys, i * length, length), out = ecb(key, inputs);
                        if (counter[15] % blocks == 0) {
                            ASSERT_EQ(out, ctr(key, counter, blocks));
                        }
                        expected.insert(expected.end(), out.begin(), out.end());
                    }
                    EXPECT_EQ(prg(tables, key_bytes, static_cast<int>(blocks), keys, counter), expected)
                        << tables << " tables, " << key_bytes << " bytes, " << blocks << " blocks";
                }
            }
        }
    }
}

Bytes sum(const Bytes& a, const Bytes& b) {
    Bytes out(a);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(out[i] ^ b[i]);
    return out;
}

/// Computes the hashes block by block, as defined by Guo, Katz, Wang and Yu.
TEST_F(DeviceCuh, HashesOfTables) {
    constexpr std::size_t n = 150;
    const Bytes blocks = random_bytes(n * 16, 12), tweaks = random_bytes(n * 16, 13);
    for (const int tables : table_counts()) {
        for (const int key_bytes : key_lengths) {
            const auto length = static_cast<std::size_t>(key_bytes);
            const Bytes keys = random_bytes(n * length, 14), fixed = slice(keys, 0, length);
            Bytes cr, ccr, tccr, mmo;
            for (std::size_t i = 0; i < n; ++i) {
                const Bytes x = slice(blocks, 16 * i, 16), tweak = slice(tweaks, 16 * i, 16);
                const auto append = [](Bytes& to, const Bytes& block) {
                    to.insert(to.end(), block.begin(), block.end());
                };
                append(cr, sum(ecb(fixed, x), x));
                Bytes s = slice(x, 8, 8);  // the lower half is l, and the upper half is l ^ r
                append(s, sum(slice(x, 0, 8), slice(x, 8, 8)));
                append(ccr, sum(ecb(fixed, s), s));
                const Bytes p = ecb(fixed, x);
                append(tccr, sum(ecb(fixed, sum(p, tweak)), p));
                append(mmo, sum(ecb(slice(keys, i * length, length), x), x));
            }
            EXPECT_EQ(hash(Hash::cr, tables, key_bytes, keys, blocks, tweaks), cr) << tables << ", " << key_bytes;
            EXPECT_EQ(hash(Hash::ccr, tables, key_bytes, keys, blocks, tweaks), ccr) << tables << ", " << key_bytes;
            EXPECT_EQ(hash(Hash::tccr, tables, key_bytes, keys, blocks, tweaks), tccr) << tables << ", " << key_bytes;
            EXPECT_EQ(hash(Hash::matyas_meyer_oseas, tables, key_bytes, keys, blocks, tweaks), mmo)
                << tables << ", " << key_bytes;
        }
    }
}

/// The threads' interleaved blocks form the CTR key stream in order.
TEST_F(DeviceCuh, StreamsTogetherAreCtr) {
    const Shape shape{2, {32, 1, 1}};
    for (const int key_bytes : key_lengths) {
        const Bytes key = random_bytes(static_cast<std::size_t>(key_bytes), 10);
        for (const std::string counter_text :
             {"00000000000000000000000000000000", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
              "00000000000000a5ffffffffffffffc0", "ffffffffffffffffffffffffffffff9c"}) {
            const Bytes counter = vectors::from_hex(counter_text);
            EXPECT_EQ(device_test::ctr(key, counter, 0, 1, 64, 5, shape), ctr(key, counter, 64 * 5))
                << key_bytes << " bytes, " << counter_text;
        }
    }
}

TEST_F(DeviceCuh, StreamsOfTheirOwn) {
    const Shape shape{1, {32, 1, 1}};
    const Bytes key = random_bytes(32, 11), counter = vectors::from_hex("0123456789abcdefffffffff00000000");
    constexpr std::uint64_t apart = std::uint64_t{1} << 32, first = 7;
    constexpr unsigned each = 3;
    const Bytes found = device_test::ctr(key, counter, first, apart, 1, each, shape);
    for (unsigned thread = 0; thread < 32; ++thread) {
        const Bytes expected = ctr(key, plus(counter, first + thread * apart), each);
        for (unsigned k = 0; k < each; ++k) {
            EXPECT_EQ(slice(found, 16 * (k * 32 + thread), 16), slice(expected, 16 * k, 16)) << thread << ' ' << k;
        }
    }
}

TEST_F(DeviceCuh, PlanesAreThoseOfLibcrypto) {
    for (const int key_bytes : key_lengths) {
        const Bytes key = random_bytes(static_cast<std::size_t>(key_bytes), 12);
        for (const unsigned groups : {1U, 4U}) {
            const Bytes plain = random_bytes(16 * 1024 * groups, 13);
            EXPECT_TRUE(encrypt_planes(key, plain) == ecb(key, plain)) << key_bytes << ' ' << groups;
        }
    }
}

TEST_F(DeviceCuh, PlanesWithAKeyForEveryWarp) {
    constexpr std::size_t groups = 4, group_bytes = 16 * 1024;
    for (const int key_bytes : key_lengths) {
        const auto length = static_cast<std::size_t>(key_bytes);
        const Bytes keys = random_bytes(groups * length, 14), plain = random_bytes(groups * group_bytes, 15);
        const Bytes found = encrypt_planes_per_warp(key_bytes, keys, plain);
        for (std::size_t i = 0; i < groups; ++i) {
            EXPECT_TRUE(slice(found, i * group_bytes, group_bytes) ==
                        ecb(slice(keys, i * length, length), slice(plain, i * group_bytes, group_bytes)))
                << key_bytes << " bytes, warp " << i;
        }
    }
}

TEST_F(DeviceCuh, PlanesOfCounters) {
    for (const int key_bytes : key_lengths) {
        const Bytes key = random_bytes(static_cast<std::size_t>(key_bytes), 16);
        for (const std::string counter_text : {"00000000000000000000000000000000", "ffffffffffffffffffffffffffffe800",
                                               "0123456789abcdeffedcba9876543c00"}) {
            const Bytes counter = vectors::from_hex(counter_text);
            EXPECT_TRUE(ctr_planes(key, counter, 3).size() == 3 * 16 * 1024);
            EXPECT_TRUE(ctr_planes(key, counter, 2) == ctr(key, counter, 2 * 1024)) << key_bytes << counter_text;
        }
    }
}

TEST_F(DeviceCuh, TwoTranslationUnits) {
    const Bytes key = random_bytes(16, 17), block = random_bytes(16, 18);
    EXPECT_EQ(encrypt_in_second_unit(key, block), ecb(key, block));
}

}  // namespace
}  // namespace device_test
