// Tests batches in the C++ headers.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <tuple>
#include <warpaes/batch.hpp>

#include "evp_oracle.hpp"

namespace {

using namespace warpaes;
using Vector = std::vector<std::uint8_t>;

class HppBatch : public testing::Test {
protected:
    HppBatch() { std::iota(text_.begin(), text_.end(), std::uint8_t{0}); }

    Engine engine_{{.threads = 2}};
    Vector key_bytes_ = Vector(16, 7);
    Key key_{key_bytes_};
    Vector text_ = Vector(4 * 100), ivs_ = Vector(4 * 16);
};

/// Blocks an engine's only worker until open() is called, but for at most 20 seconds.
class HppHeldBatch : public HppBatch {
protected:
    void SetUp() override {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.user = this;
        options.finished = [](void* user, warpaes_batch*) {
            auto& its = *static_cast<HppHeldBatch*>(user);
            its.held_ = true;
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (!its.open_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        };
        ASSERT_EQ(warpaes_batch_submit(one_worker_.get(), &options, nullptr, 0, &first_), WARPAES_OK);
        while (!held_) std::this_thread::yield();
    }
    void TearDown() override {
        open();
        warpaes_batch_destroy(first_);
    }
    void open() { open_ = true; }

    Engine one_worker_{{.threads = 1}};
    Entry entry_{.mode = Mode::ctr,
                 .direction = Direction::encrypt,
                 .length = 100,
                 .key = &key_,
                 .input = {text_.data()},
                 .output = {text_.data()},
                 .iv = {ivs_.data()},
                 .iv_len = 16};

private:
    std::atomic<bool> open_{false}, held_{false};
    warpaes_batch* first_ = nullptr;
};

TEST_F(HppHeldBatch, WaitsForNoNegativeTime) {
    Batch batch(one_worker_, {entry_});
    using Time = std::chrono::milliseconds;
    for (const Time time : {Time(0), Time(-1), Time(-5), Time::min()})
        EXPECT_FALSE(batch.wait_for(time)) << time.count();
    open();
    EXPECT_TRUE(batch.wait_for(Time::max()));
    EXPECT_EQ(batch.status(0), WARPAES_OK);
}

TEST_F(HppHeldBatch, WhatWasCancelledIsLeftOut) {
    const Vector before = text_;
    Batch batch(one_worker_, {entry_});
    batch.cancel();
    open();
    EXPECT_EQ(batch.wait().failed_entries, 1U);
    EXPECT_EQ(batch.status(0), WARPAES_ERROR_CANCELLED);
    EXPECT_EQ(text_, before);
}

TEST_F(HppBatch, SaysWhoDidIt) {
    const Engine cpu{{.backend = "libcrypto"}};
    Entry entry{.mode = Mode::ecb,
                .direction = Direction::encrypt,
                .count = 3,
                .length = 96,
                .key = &key_,
                .input = {text_.data(), 100},
                .output = {text_.data(), 100}};
    Entry wrong = entry;
    wrong.length = 95;
    const BatchResult result = Batch(cpu, {entry, wrong}).wait();
    EXPECT_EQ(std::tuple(result.notes, result.messages, result.failed_entries, result.messages_on_cpu,
                         result.messages_on_gpu),
              std::tuple(0U, 6U, 1U, 3U, 0U));
}

// Without the flag, a repeated nonce is accepted.
TEST_F(HppBatch, NoncesAreCheckedWhereThatIsAskedFor) {
    Vector tags(2 * 16);
    std::vector<Entry> entries(2, Entry{.mode = Mode::gcm,
                                        .direction = Direction::encrypt,
                                        .length = 100,
                                        .key = &key_,
                                        .input = {text_.data()},
                                        .output = {text_.data()},
                                        .iv = {ivs_.data()},
                                        .iv_len = 12,
                                        .tag = {tags.data()},
                                        .tag_len = 16});
    entries[1].input = entries[1].output = {text_.data() + 100};
    entries[1].tag = {tags.data() + 16};
    const auto failed = [&](auto... flags) { return Batch(engine_, entries, flags...).wait().failed_entries; };
    EXPECT_EQ(failed(), 0U);
    EXPECT_EQ(failed(Batch::none), 0U);
    EXPECT_EQ(failed(Batch::check_nonces), 2U);
}

TEST_F(HppBatch, EntriesOfAnArena) {
    const Arena arena(engine_, 8192);
    std::uint8_t* const data = arena.data();
    ASSERT_EQ(arena.size(), 8192U);
    EXPECT_EQ(arena.fd(), -1);
    std::copy(text_.begin(), text_.end(), data);
    const Entry seal{.mode = Mode::gcm,
                     .direction = Direction::encrypt,
                     .count = 4,
                     .length = 100,
                     .key = &key_,
                     .input = {data, 100},
                     .output = {data + 1000, 100},
                     .iv = {data + 2000, 12},
                     .iv_len = 12,
                     .tag = {data + 3000, 16},
                     .tag_len = 16};
    for (std::uint8_t i = 0; i < 4; ++i) data[2000 + 12 * i] = i;
    Batch batch(engine_, {seal}, Batch::check_nonces, &arena);
    auto future = batch.future();
    const BatchResult result = batch.get();
    EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_TRUE(batch.finished());
    EXPECT_EQ(result.messages, 4U);
    EXPECT_EQ(result.messages_on_cpu + result.messages_on_gpu, 4U);
    EXPECT_FALSE(result.reason.empty());

    Entry open = seal;
    open.direction = Direction::decrypt;
    open.input = {data + 1000, 100};
    open.output = {data + 4000, 100};
    EXPECT_EQ(Batch(engine_, {open}).get().failed_entries, 0U);
    EXPECT_TRUE(std::equal(text_.begin(), text_.end(), data + 4000));
    data[3000 + 16] ^= 1;
    Entry again = seal;
    again.output = {data + 5000, 100};
    again.tag = {data + 6000, 16};
    Batch damaged(engine_, {open, again});
    EXPECT_EQ(damaged.wait().failed_entries, 1U);
    EXPECT_EQ(damaged.status(0), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(damaged.status(1), WARPAES_OK);
    EXPECT_EQ(damaged.failures(0), 1U);
    EXPECT_EQ(damaged.first_failure(0), 1U);
    EXPECT_NE(damaged.error(0), "");
    EXPECT_EQ(damaged.error(1), "");
    EXPECT_THROW(damaged.get(), Error);
}

TEST_F(HppBatch, MessagesOfATable) {
    const Vector plain = text_;
    std::vector<warpaes_table_message> messages(3);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        messages[i].input = messages[i].output = 100 * i;
        messages[i].length = 50 + i;
        messages[i].iv = 16 * i;
    }
    messages[1].iv = ivs_.size() - 15;
    for (std::size_t i = 0; i < ivs_.size(); ++i) ivs_[i] = static_cast<std::uint8_t>(3 * i);
    std::vector<warpaes_status> statuses(3, WARPAES_ERROR_STATE);
    warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
    table.mode = WARPAES_CTR;
    table.direction = WARPAES_ENCRYPT;
    table.key = key_.get();
    table.iv_len = 16;
    table.messages = messages.data();
    table.count = messages.size();
    table.input = table.output = {text_.data(), text_.size()};
    table.iv = {ivs_.data(), ivs_.size()};
    table.statuses = statuses.data();
    Batch batch = Batch::of_table(engine_, table);
    std::fill(messages.begin(), messages.end(), warpaes_table_message{});  // the call has copied them
    EXPECT_EQ(batch.wait().failed_entries, 1U);
    EXPECT_EQ(statuses, (std::vector<warpaes_status>{WARPAES_OK, WARPAES_ERROR_RANGE, WARPAES_OK}));
    EXPECT_EQ(batch.status(1), WARPAES_ERROR_RANGE);
    EXPECT_NE(batch.error(1), "");
    Vector want = plain;
    for (const std::size_t i : {0, 2}) {
        const auto first = plain.begin() + static_cast<std::ptrdiff_t>(100 * i);
        const auto iv = ivs_.begin() + static_cast<std::ptrdiff_t>(16 * i);
        const auto text = oracle::evp("CTR", true, key_bytes_, Vector(iv, iv + 16),
                                      Vector(first, first + static_cast<std::ptrdiff_t>(50 + i)));
        std::copy(text->begin(), text->end(), want.begin() + static_cast<std::ptrdiff_t>(100 * i));
    }
    EXPECT_EQ(text_, want);

    table.input.pointer = nullptr;
    EXPECT_THROW(Batch::of_table(engine_, table), Error);
}

TEST_F(HppBatch, ModesThatMessagesAndBatchesHave) {
    Vector output(text_.size());
    const Entry entry{.mode = Mode::cbc,
                      .direction = Direction::encrypt,
                      .count = 4,
                      .length = 96,
                      .key = &key_,
                      .input = {text_.data(), 100},
                      .output = {output.data(), 100},
                      .iv = {ivs_.data(), 16},
                      .iv_len = 16};
    Batch(engine_, {entry}).get();
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
        const auto at = text_.begin() + 100 * i;
        const Vector expected = oracle::evp("CBC", true, key_bytes_, Vector(16), Vector(at, at + 96)).value();
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.begin() + 100 * i));
    }
    Entry wrong = entry;
    wrong.length = 95;
    try {
        Batch(engine_, {wrong}).get();
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_DATA_LENGTH);
    }
}

TEST_F(HppBatch, DataUnitsUnderTwoKeys) {
    const Vector tweak_bytes(16, 9);
    const Key tweak_key(tweak_bytes);
    Vector output(text_.size());
    Batch batch(engine_, {{.mode = Mode::xts,
                           .direction = Direction::encrypt,
                           .count = 4,
                           .length = 100,
                           .key = &key_,
                           .tweak_key = &tweak_key,
                           .input = {text_.data(), 100},
                           .output = {output.data(), 100},
                           .iv = {ivs_.data(), 16},
                           .iv_len = 16,
                           .data_unit_len = 36}});
    batch.wait();
    for (std::ptrdiff_t m = 0; m < 4; ++m) {
        const Vector input(text_.begin() + 100 * m, text_.begin() + 100 * (m + 1));
        const Vector expected = oracle::xts(true, key_bytes_, tweak_bytes, Vector(16), 36, input);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.begin() + 100 * m)) << m;
    }
}

TEST_F(HppBatch, OffsetsInASharedArena) {
    const Arena arena(engine_, 4096, Memory::shared);
    EXPECT_GE(arena.fd(), 0);
    const Entry entry{.mode = Mode::ctr,
                      .direction = Direction::encrypt,
                      .length = 100,
                      .keys = at_offset(0),
                      .key_len = 32,
                      .input = at_offset(100),
                      .output = at_offset(200),
                      .iv = at_offset(64),
                      .iv_len = 16};
    Batch batch(engine_, {entry}, Batch::offsets, &arena);
    EXPECT_TRUE(batch.wait_for(std::chrono::seconds(60)));
    EXPECT_EQ(batch.status(0), WARPAES_OK);
    const Vector expected = oracle::evp("CTR", true, Vector(32), Vector(16), Vector(100)).value();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), arena.data() + 200));
}

/// A destroyed key is no longer valid. Batches, which refer to keys by address, detect this.
TEST_F(HppBatch, AKeyEndsWithItsObject) {
    auto key = std::make_unique<Key>(key_bytes_);
    warpaes_batch_entry entry = {};
    entry.mode = WARPAES_ECB;
    entry.direction = WARPAES_ENCRYPT;
    entry.key = key->get();
    EXPECT_NO_THROW(Batch::of_entries(engine_, {entry}).get());
    key.reset();
    try {
        Batch::of_entries(engine_, {entry}).get();
        FAIL() << "the key still exists";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_ARGUMENT);
        EXPECT_STREQ(e.what(), "key: is not a key, or was destroyed");
    }
}

TEST_F(HppBatch, KeysAreFlushedBetweenBatches) {
    const Vector expected = oracle::evp("ECB", true, key_bytes_, {}, Vector(32, 5)).value();
    for (int turn = 0; turn < 3; ++turn) {
        Vector in(32, 5), out(32), key = key_bytes_;
        Batch(engine_, {{.mode = Mode::ecb,
                         .direction = Direction::encrypt,
                         .count = 2,
                         .length = 16,
                         .keys = {key.data(), 0},
                         .key_len = 16,
                         .input = {in.data(), 16},
                         .output = {out.data(), 16}}})
            .get();
        EXPECT_EQ(out, expected);
        EXPECT_NO_THROW(engine_.flush_keys());
    }
}

}  // namespace
