// Tests random batches with their expected results through the C ABI, on every backend.
#include "abi_batch.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace warpaes::test {
namespace {

class AbiBatch : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam());
        ASSERT_NE(engine_, nullptr) << warpaes_last_error();
    }
    AbiEngine engine_;
};

TEST_P(AbiBatch, EachMode) {
    std::uint32_t seed = 100;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::mt19937 random(++seed);
            std::vector<GroupSpec> specs;
            for (int i = 0; i < (simulated() ? 4 : 30); ++i)
                specs.push_back(random_group(random, mode, direction, limits()));
            check_abi_batch(engine_, specs, seed);
        }
    }
}

TEST_P(AbiBatch, AllModesAtOnce) {
    for (std::uint32_t seed = 1; seed <= (simulated() ? 2u : 15u); ++seed) {
        std::mt19937 random(seed);
        check_abi_batch(engine_, random_batch(random, simulated() ? 20 : 120, limits()), 1000 * seed);
    }
}

// Tests entries that become several tasks, and tasks that contain several entries.
TEST_P(AbiBatch, ManyMessages) {
    std::mt19937 random(5);
    std::vector<GroupSpec> specs;
    for (const Mode mode : batch_modes()) {
        GroupSpec spec = random_group(random, mode, Direction::decrypt, limits());
        spec.count = simulated() ? 70 : 3000;
        spec.length = mode == Mode::cfb8 || mode == Mode::cfb1 ? 16 : 112;
        spec.wrong_tags = 5;
        specs.push_back(spec);
        spec.direction = Direction::encrypt;
        spec.shared_iv = false;
        specs.push_back(spec);
    }
    check_abi_batch(engine_, specs, 5);
}

// Tests messages that are divided among several workers, in a batch with short messages.
TEST_P(AbiBatch, ALongMessageAmongShortOnes) {
    if (simulated()) {
        GTEST_SKIP()
            << "takes too long on the simulated GPU; test_abi_batch runs this test on every machine's CPU, and on its "
               "GPU where the build is one with CUDA";
    }
    std::mt19937 random(6);
    std::vector<GroupSpec> specs = random_batch(random, 40);
    specs.push_back({.mode = Mode::ctr, .length = (std::uint64_t{20} << 20) + 5, .in_place = true});
    specs.push_back({.mode = Mode::gcm,
                     .direction = Direction::decrypt,
                     .count = 2,
                     .length = (std::uint64_t{17} << 20) + 5,
                     .iv_length = 12,
                     .aad_length = 20,
                     .raw_keys = true,
                     .wrong_tags = 50});
    specs.push_back({.mode = Mode::xts, .length = (std::uint64_t{17} << 20) + 48});
    check_abi_batch(engine_, specs, 6);
}

// A long message is a separate task. If its counter wraps, the batch's result still contains the note.
TEST_P(AbiBatch, ALongMessageWhoseCounterWraps) {
    if (simulated())
        GTEST_SKIP() << "takes too long on the simulated GPU; test_abi_batch runs this test on every machine's CPU";
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    std::vector<std::uint8_t> text((std::size_t{16} << 20) + 16), iv(16, 0xff);
    warpaes_batch_entry entry = {};
    entry.mode = WARPAES_CTR;
    entry.direction = WARPAES_ENCRYPT;
    entry.count = 1;
    entry.length = text.size();
    entry.input.at.pointer = entry.output.at.pointer = text.data();
    entry.iv.at.pointer = iv.data();
    entry.iv_len = 16;
    entry.key = key.get();
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &entry, 1, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
    ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
    EXPECT_EQ(result.notes, std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED});
    EXPECT_EQ(result.messages, 1U);
    EXPECT_EQ(result.failed_entries, 0U);
    EXPECT_EQ(result.messages_on_cpu + result.messages_on_gpu, 1U);
    EXPECT_EQ(result.status, WARPAES_OK);
}

// As for warpaes_crypt, the note appears if the counter of any message in the batch wraps, and not otherwise.
TEST_P(AbiBatch, ACounterThatWrapsIsNoted) {
    constexpr std::size_t count = 200, length = 48, entries = 3;
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    const auto notes = [&](warpaes_mode mode, std::size_t entry, std::size_t message, std::uint8_t last) {
        std::vector<std::uint8_t> text(entries * count * length), ivs(entries * count * 16);
        for (std::size_t i = 0; i < entries * count; ++i) ivs[16 * i] = 0xff;  // large, but does not wrap
        std::uint8_t* const iv = ivs.data() + 16 * (entry * count + message);
        std::fill_n(iv, 15, std::uint8_t{0xff});
        iv[15] = last;
        std::vector<warpaes_batch_entry> batch(entries);
        for (std::size_t i = 0; i < entries; ++i) {
            warpaes_batch_entry& e = batch[i];
            e.mode = mode;
            e.direction = i % 2 == 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
            e.count = count;
            e.length = length;
            e.input = {{text.data() + i * count * length}, length};
            e.output = e.input;
            e.iv = {{ivs.data() + i * count * 16}, 16};
            e.iv_len = 16;
            e.key = key.get();
        }
        warpaes_batch* handle = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, batch.data(), batch.size(), &handle), WARPAES_OK);
        const AbiBatchHandle owned(handle);
        EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
        warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
        EXPECT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        return result.notes;
    };
    constexpr std::uint32_t wrapped = WARPAES_NOTE_COUNTER_WRAPPED;
    for (const std::size_t entry : {std::size_t{0}, std::size_t{1}, entries - 1}) {
        for (const std::size_t message : {std::size_t{0}, std::size_t{63}, std::size_t{64}, count - 1}) {
            EXPECT_EQ(notes(WARPAES_CTR, entry, message, 0xfe), wrapped) << entry << " " << message;
            EXPECT_EQ(notes(WARPAES_CTR, entry, message, 0xfd), 0U) << "three blocks end at 2^128 - 1";
        }
    }
    EXPECT_EQ(notes(WARPAES_CBC, 1, 5, 0xff), 0U);
    EXPECT_EQ(notes(WARPAES_OFB, 1, 5, 0xff), 0U);
}

/// Runs random batches of `groups` groups from several concurrent threads, with `rounds` batches per thread.
void check_from_threads(const AbiEngine& engine, std::uint32_t threads, std::uint32_t rounds, std::size_t groups) {
    std::vector<std::thread> clients;
    for (std::uint32_t t = 0; t < threads; ++t) {
        clients.emplace_back([&engine, t, rounds, groups] {
            for (std::uint32_t round = 0; round < rounds; ++round) {
                std::mt19937 random(100 * t + round);
                check_abi_batch(engine, random_batch(random, groups, limits()), 100 * t + round);
            }
        });
    }
    for (std::thread& client : clients) client.join();
}

TEST_P(AbiBatch, FromEightThreads) {
    check_from_threads(engine_, 8, simulated() ? 1 : 6, simulated() ? 6 : 30);
}

// Submits batches from several threads to an engine with one worker, so that the worker and the waiting threads take
// turns.
TEST_P(AbiBatch, FromManyThreadsToAnEngineOfOne) {
    check_from_threads(make_engine(GetParam(), 1), 6, simulated() ? 2 : 40, 3);
}

INSTANTIATE_TEST_SUITE_P(Backend, AbiBatch, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
