// Compares the bitsliced kernel and the timed kernels with libcrypto on the simulated GPU.
#include "lab/gpu/contenders.hpp"

#include <gtest/gtest.h>

#include "aes/key_schedule.hpp"
#include "evp_oracle.hpp"
#include "lab/gpu/dpf.hpp"
#include "lab/gpu/leakage.hpp"

namespace lab::gpu {
namespace {

using oracle::Bytes;

Bytes some_bytes(std::size_t size, unsigned seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 13);
    }
    return bytes;
}

TEST(Bitsliced, AllSizesRoundWarpsAndThreadBlocks) {
    const Bytes key = some_bytes(16, 1);
    const Stream stream;
    Bytes counter(16, 0xff);
    counter[14] = 0xfc, counter[15] = 0;  // the last multiple of 1,024 before a carry through all bytes
    for (const bool ctr : {false, true}) {
        const Bytes iv = ctr ? counter : Bytes{};
        for (const std::size_t blocks : {1u, 31u, 32u, 33u, 1023u, 1024u, 1025u, 8192u, 8193u, 20000u}) {
            Bytes text = some_bytes(16 * blocks, static_cast<unsigned>(blocks));
            const Bytes wanted = *oracle::evp(ctr ? "CTR" : "ECB", true, key, iv, text);
            text.resize(text.size() + 64, 0xc3);
            const DeviceMemory input = on_device(text), output(text.size());
            fill(output.get(), 0xc3, output.size());
            run_bitsliced(key, iv, input.get(), output.get(), 16 * blocks, stream);
            stream.synchronize();
            const Bytes result = fetch(output);
            EXPECT_EQ(Bytes(result.begin(), result.end() - 64), wanted) << ctr << ' ' << blocks;
            EXPECT_EQ(Bytes(result.end() - 64, result.end()), Bytes(64, 0xc3)) << ctr << ' ' << blocks;
        }
    }
}

TEST(Bitsliced, Refuses) {
    const Stream stream;
    DeviceMemory text(64);
    const auto run = [&](std::size_t key, const Bytes& counter, std::size_t bytes) {
        run_bitsliced(Bytes(key), counter, text.get(), text.get(), bytes, stream);
    };
    EXPECT_NO_THROW(run(16, {}, 0));
    EXPECT_THROW(run(32, {}, 64), std::invalid_argument);
    EXPECT_THROW(run(16, {}, 63), std::invalid_argument);
    EXPECT_THROW(run(16, Bytes(15), 64), std::invalid_argument);
    EXPECT_THROW(run(16, Bytes(16, 1), 64), std::invalid_argument);
    EXPECT_GE(bitsliced_resources(true).blocks_per_multiprocessor, 1);
}

TEST(Grouped, AllSizesRoundGroupsAndThreadBlocks) {
    const Bytes key = some_bytes(16, 6);
    const Stream stream;
    for (const unsigned of_group : {4u, 8u}) {
        for (const std::size_t blocks : {1u, 3u, 4u, 5u, 8u, 9u, 63u, 64u, 65u, 127u, 128u, 129u, 300u}) {
            Bytes text = some_bytes(16 * blocks, static_cast<unsigned>(blocks));
            const Bytes wanted = *oracle::evp("ECB", true, key, {}, text);
            text.resize(text.size() + 64, 0xc3);
            const DeviceMemory input = on_device(text), output(text.size());
            fill(output.get(), 0xc3, output.size());
            run_grouped(key, of_group, input.get(), output.get(), 16 * blocks, stream);
            stream.synchronize();
            const Bytes result = fetch(output);
            EXPECT_EQ(Bytes(result.begin(), result.end() - 64), wanted) << of_group << ' ' << blocks;
            EXPECT_EQ(Bytes(result.end() - 64, result.end()), Bytes(64, 0xc3)) << of_group << ' ' << blocks;
            run_grouped(key, of_group, input.get(), input.get(), 16 * blocks, stream);
            stream.synchronize();
            EXPECT_EQ(fetch(input), result) << "in place";
        }
    }
    DeviceMemory text(64);
    EXPECT_THROW(run_grouped(key, 2, text.get(), text.get(), 64, stream), std::invalid_argument);
    EXPECT_THROW(run_grouped(Bytes(32), 4, text.get(), text.get(), 64, stream), std::invalid_argument);
    EXPECT_THROW(run_grouped(key, 4, text.get(), text.get(), 63, stream), std::invalid_argument);
}

TEST(CachedCounter, CarriesAndSizes) {
    const Bytes key = some_bytes(16, 3);
    const Stream stream;
    Bytes near_group = some_bytes(16, 4), near_half(16, 0xff), near_end(16, 0xff);
    near_group[14] = 0xff, near_group[15] = 0xfd;
    for (std::size_t i = 0; i < 8; ++i) near_half[i] = static_cast<std::uint8_t>(i);
    near_end[15] = 0xfe;  // all 128 bits wrap
    for (const Bytes& counter : {some_bytes(16, 5), near_group, near_half, near_end}) {
        const CachedCounter cached(key, counter, 16 * 1300);
        for (const std::size_t blocks : {1u, 2u, 3u, 511u, 512u, 513u, 1300u}) {
            Bytes text = some_bytes(16 * blocks, static_cast<unsigned>(blocks));
            const Bytes wanted = *oracle::evp("CTR", true, key, counter, text);
            text.resize(text.size() + 64, 0xc3);
            const DeviceMemory input = on_device(text), output(text.size());
            fill(output.get(), 0xc3, output.size());
            cached.run(input.get(), output.get(), 16 * blocks, stream);
            stream.synchronize();
            const Bytes result = fetch(output);
            EXPECT_EQ(Bytes(result.begin(), result.end() - 64), wanted) << blocks;
            EXPECT_EQ(Bytes(result.end() - 64, result.end()), Bytes(64, 0xc3)) << blocks;
            cached.run(input.get(), input.get(), 16 * blocks, stream);
            stream.synchronize();
            EXPECT_EQ(fetch(input), result) << "in place, " << blocks;
        }
    }
}

TEST(CachedCounter, Refuses) {
    const Stream stream;
    DeviceMemory text(64);
    EXPECT_THROW(CachedCounter(Bytes(32), Bytes(16), 64), std::invalid_argument);
    EXPECT_THROW(CachedCounter(Bytes(16), Bytes(12), 64), std::invalid_argument);
    const CachedCounter cached(Bytes(16), Bytes(16), 64);
    EXPECT_NO_THROW(cached.run(text.get(), text.get(), 0, stream));
    EXPECT_THROW(cached.run(text.get(), text.get(), 63, stream), std::invalid_argument);
    EXPECT_THROW(cached.run(text.get(), text.get(), 80, stream), std::invalid_argument);
}

std::vector<DpfNode> some_table(unsigned depth) {
    std::vector<DpfNode> table(std::size_t{1} << depth);
    for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = {i, i * 2654435761u, ~i, i << 16};
    return table;
}

/// Computes the server's expected answer with libcrypto, from the entries whose control bit is 1 for the party.
DpfNode answer_of(Prg prg, const DpfKey& key, const std::vector<DpfNode>& table) {
    DpfNode sum{};
    for (std::size_t i = 0; i < table.size(); ++i) {
        if ((evaluate(prg, key, i)[0] & 1) == 0) continue;
        for (std::size_t w = 0; w < 4; ++w) sum[w] ^= table[i][w];
    }
    return sum;
}

TEST(Dpf, SharesDifferAtOneEntryAlone) {
    for (const Prg prg : {Prg::aes, Prg::chacha}) {
        for (const std::uint64_t index : {0u, 1u, 21u, 31u}) {
            const auto [a, b] = make_dpf(prg, index, 5, 9 + index);
            for (std::uint64_t i = 0; i < 32; ++i) {
                const DpfNode x = evaluate(prg, a, i), y = evaluate(prg, b, i);
                EXPECT_EQ(x != y, i == index) << i;
                EXPECT_EQ((x[0] ^ y[0]) & 1, i == index ? 1u : 0u) << i;
            }
        }
    }
    EXPECT_THROW((void)make_dpf(Prg::aes, 32, 5, 1), std::invalid_argument);
}

TEST(Dpf, TheServerAnswersAsLibcryptoDoes) {
    const Stream stream;
    for (const unsigned depth : {6u, 7u, 11u}) {
        const std::vector<DpfNode> table = some_table(depth);
        DpfServer server(table, depth, 2);
        for (const Prg prg : {Prg::aes, Prg::chacha}) {
            const std::uint64_t index = table.size() - 3;
            const auto [a, b] = make_dpf(prg, index, depth, 4);
            const std::vector<DpfKey> keys{a, b};
            server.load(keys);
            server.run(prg, stream);
            stream.synchronize();
            const std::vector<DpfNode> answers = server.answers();
            EXPECT_EQ(answers[0], answer_of(prg, a, table)) << depth;
            EXPECT_EQ(answers[1], answer_of(prg, b, table)) << depth;
            for (std::size_t w = 0; w < 4; ++w) EXPECT_EQ(answers[0][w] ^ answers[1][w], table[index][w]);
        }
    }
}

TEST(Dpf, TheServerRefuses) {
    EXPECT_THROW(DpfServer(some_table(5), 5, 1), std::invalid_argument);
    EXPECT_THROW(DpfServer(some_table(6), 7, 1), std::invalid_argument);
    EXPECT_THROW(DpfServer(some_table(6), 6, 0), std::invalid_argument);
    DpfServer server(some_table(6), 6, 1);
    EXPECT_THROW(server.load({}), std::invalid_argument);
    const std::vector<DpfKey> shallow{make_dpf(Prg::aes, 0, 5, 1).first};
    EXPECT_THROW(server.load(shallow), std::invalid_argument);
}

std::vector<std::uint32_t> schedule_of(const Bytes& key) {
    const auto words = warpaes::expand_key(key).words;
    return {words.begin(), words.begin() + schedule_words};
}

TEST(WarpTimer, EncryptsWhatItTimes) {
    constexpr std::size_t count = 5;
    WarpTimer timer;
    const Bytes texts = some_bytes(count * warp_text, 3);
    std::vector<Bytes> keys;
    std::vector<std::uint32_t> schedules;
    for (unsigned i = 0; i < count; ++i) {
        keys.push_back(some_bytes(16, 100 + i));
        const auto words = schedule_of(keys.back());
        schedules.insert(schedules.end(), words.begin(), words.end());
    }
    const std::span<const std::uint8_t> all_texts = texts, one_text = all_texts.first(warp_text);
    const std::span<const std::uint32_t> all_keys = schedules, one_key = all_keys.first(schedule_words);
    for (std::size_t s = 0; s < timed_subjects; ++s) {
        const auto subject = static_cast<Timed>(s);
        for (const bool many_texts : {false, true}) {
            for (const bool many_keys : {false, true}) {
                const WarpTimes times = timer.measure(
                    subject, {count, many_texts ? all_texts : one_text, many_keys ? all_keys : one_key}, true);
                EXPECT_EQ(times.cycles.size(), count);
                for (std::size_t i = 0; i < count; ++i) {
                    const auto text = all_texts.subspan(many_texts ? i * warp_text : 0, warp_text);
                    const Bytes wanted =
                        *oracle::evp("ECB", true, keys[many_keys ? i : 0], {}, Bytes(text.begin(), text.end()));
                    const std::span<const std::uint8_t> all = times.ciphertexts;
                    const auto result = all.subspan(i * warp_text, warp_text);
                    EXPECT_EQ(Bytes(result.begin(), result.end()), wanted) << name_of(subject) << ' ' << i;
                }
            }
        }
    }
    EXPECT_TRUE(timer.measure(Timed::shared, {1, one_text, one_key}, false).ciphertexts.empty());
    EXPECT_THROW(timer.measure(Timed::shared, {3, all_texts, one_key}, false), std::invalid_argument);
    EXPECT_THROW(timer.measure(Timed::shared, {3, one_text, all_keys}, false), std::invalid_argument);
    EXPECT_THROW(timer.measure(Timed::shared, {0, {}, {}}, false), std::invalid_argument);
}

}  // namespace
}  // namespace lab::gpu
