// Tests the table of expanded keys on a device: allocating slots, and removing destroyed keys.
#include "cuda/key_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "evp_oracle.hpp"
#include "simt.hpp"

namespace warpaes::cuda {
namespace {

using oracle::Bytes;

Bytes bytes(std::size_t n, unsigned seed) {
    Bytes b(n);
    for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::uint8_t>(seed * 31 + i * 7);
    return b;
}

std::vector<std::uint8_t> contents(KeyTable& table, std::uint32_t number) {
    std::vector<std::uint8_t> slot(key_slot_bytes);
    EXPECT_EQ(cudaMemcpy(slot.data(), table.slot(number), slot.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    return slot;
}

KeyTable::Wipe wipe(KeyTable& table, KeyTable::Which which = KeyTable::Which::all) {
    return table.wipe_forgotten(nullptr, which);
}

TEST(KeyTable, OneFillsAndOthersReadWhenItIsDone) {
    KeyTable table;
    const ExpandedKey key(bytes(16, 1));
    const KeyTable::Held first = table.hold(key, false);
    EXPECT_NE(first.number, KeyTable::none);
    EXPECT_TRUE(first.empty);
    EXPECT_EQ(table.hold(key, false).number, KeyTable::none) << "the slot is being filled";
    const KeyTable::Held inverse = table.hold(key, true);
    EXPECT_NE(inverse.number, first.number);
    table.release(first, true);
    const KeyTable::Held second = table.hold(key, false);
    EXPECT_EQ(second.number, first.number);
    EXPECT_FALSE(second.empty);
    table.release(second, true);
    table.release(inverse, true);
}

TEST(KeyTable, WhatFailedIsNotRead) {
    KeyTable table;
    const ExpandedKey key(bytes(16, 1));
    const KeyTable::Held first = table.hold(key, false);
    table.release(first, false);
    const KeyTable::Held second = table.hold(key, false);
    EXPECT_TRUE(second.empty);
    table.release(second, true);
}

TEST(KeyTable, BoundedAndNeverTakesAwayWhatIsHeld) {
    KeyTable table;
    std::vector<std::unique_ptr<ExpandedKey>> keys;
    std::vector<KeyTable::Held> held;
    for (std::uint32_t i = 0; i < KeyTable::capacity; ++i) {
        keys.push_back(std::make_unique<ExpandedKey>(bytes(16, i)));
        held.push_back(table.hold(*keys.back(), false));
        ASSERT_TRUE(held.back().empty);
        ASSERT_LT(held.back().number, KeyTable::capacity);
    }
    const ExpandedKey another(bytes(32, 5));
    EXPECT_EQ(table.hold(another, false).number, KeyTable::none);
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (i != 7) table.release(held[i], true);
    }
    const KeyTable::Held room = table.hold(another, false);
    EXPECT_NE(room.number, KeyTable::none);
    EXPECT_NE(room.number, held[7].number);
    EXPECT_TRUE(room.empty);
    table.release(room, true);
    table.release(held[7], true);
}

TEST(KeyTable, AKeyThatWasPushedOutIsNotFound) {
    KeyTable table;
    std::vector<std::unique_ptr<ExpandedKey>> keys;
    const auto take = [&](const ExpandedKey& key) {
        const KeyTable::Held held = table.hold(key, false);
        table.release(held, true);
        return held;
    };
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < KeyTable::capacity + 10; ++i) {
        keys.push_back(std::make_unique<ExpandedKey>(bytes(16, i)));
        numbers.push_back(take(*keys.back()).number);
    }
    std::vector<std::uint32_t> pushed_out;
    for (std::uint32_t i = 0; i < KeyTable::capacity; ++i) {
        if (std::count(numbers.begin(), numbers.end(), numbers[i]) != 1) pushed_out.push_back(i);
    }
    ASSERT_EQ(pushed_out.size(), 10u);
    for (std::uint32_t i = KeyTable::capacity; i < keys.size(); ++i) EXPECT_FALSE(take(*keys[i]).empty);
    for (const std::uint32_t i : pushed_out) EXPECT_TRUE(take(*keys[i]).empty) << "the slot belongs to a different key";
}

TEST(KeyTable, ForgetsWhatNobodyHasUsedSince) {
    KeyTable table;
    const ExpandedKey a(bytes(16, 1)), b(bytes(16, 2)), c(bytes(16, 3));
    EXPECT_TRUE(table.empty());
    std::vector<KeyTable::Held> held;
    for (const ExpandedKey* const key : {&a, &b, &c}) {
        held.push_back(table.hold(*key, false));
        ASSERT_EQ(cudaMemset(table.slot(held.back().number), 0x77, key_slot_bytes), cudaSuccess);
        if (key != &c) table.release(held.back(), true);
    }
    const auto then = KeyTable::Clock::now();
    while (KeyTable::Clock::now() <= then) {
    }
    table.release(table.hold(b, false), true);
    table.forget_before(then);
    // c is in use.
    const KeyTable::Wipe first = wipe(table);
    EXPECT_EQ(first.numbers, std::vector<std::uint32_t>{held[0].number});
    table.wiped(first, true);
    EXPECT_EQ(contents(table, held[0].number), std::vector<std::uint8_t>(key_slot_bytes, 0));
    EXPECT_FALSE(table.hold(b, false).empty);
    EXPECT_TRUE(table.hold(a, false).empty);
    EXPECT_TRUE(wipe(table).numbers.empty());
    table.release(held[2], true);

    // If memory cannot be wiped immediately, it is wiped later.
    simt::fail_call("cudaMemsetAsync", 1, cudaErrorUnknown);
    const KeyTable::Wipe failed = wipe(table);
    EXPECT_TRUE(failed.numbers.empty());
    EXPECT_FALSE(failed.complete);
    const KeyTable::Wipe second = wipe(table);
    EXPECT_EQ(second.numbers, std::vector<std::uint32_t>{held[2].number});
    EXPECT_TRUE(second.complete);
    EXPECT_EQ(contents(table, held[2].number), std::vector<std::uint8_t>(key_slot_bytes, 0));
    EXPECT_FALSE(table.empty());
}

TEST(KeyTable, WipesKeysThatAreNoMore) {
    KeyTable table;
    const ExpandedKey key(bytes(16, 1));
    const KeyTable::Held held = table.hold(key, false);
    ASSERT_EQ(cudaMemset(table.slot(held.number), 0x77, key_slot_bytes), cudaSuccess);
    table.forget(key.serial());
    EXPECT_TRUE(wipe(table).numbers.empty()) << "it is held";
    table.release(held, true);
    const auto first = wipe(table);
    ASSERT_EQ(first.numbers.size(), 1u);
    EXPECT_EQ(contents(table, held.number), std::vector<std::uint8_t>(key_slot_bytes, 0));
    table.wiped(first, false);
    const auto again = wipe(table);
    EXPECT_EQ(again.numbers, first.numbers) << "the failed wipe is repeated";
    table.wiped(again, true);
    EXPECT_TRUE(wipe(table).numbers.empty());
    EXPECT_TRUE(table.empty());
}

/// Fills a key's slot, destroys the key and returns the slot's number.
std::uint32_t forgotten(KeyTable& table, unsigned seed) {
    const ExpandedKey key(bytes(16, seed));
    const KeyTable::Held held = table.hold(key, false);
    EXPECT_EQ(cudaMemset(table.slot(held.number), 0x77, key_slot_bytes), cudaSuccess);
    table.release(held, true);
    table.forget(key.serial());
    return held.number;
}

TEST(KeyTable, AFlushDoesNotRelyOnTheWipesOfOthers) {
    constexpr auto unattended = KeyTable::Which::unattended;
    for (const bool first_succeeds : {false, true}) {
        for (const bool second_succeeds : {false, true}) {
            for (const bool first_ends_first : {false, true}) {
                KeyTable table;
                const std::vector<std::uint32_t> number{forgotten(table, 1)};
                const KeyTable::Wipe first = wipe(table, unattended);
                EXPECT_EQ(first.numbers, number);
                EXPECT_FALSE(table.empty()) << "a flush would find nothing to do";
                EXPECT_TRUE(wipe(table, unattended).numbers.empty()) << "the batch's wipe was enough";
                const KeyTable::Wipe second = wipe(table);
                EXPECT_EQ(second.numbers, number);

                table.wiped(first_ends_first ? first : second, first_ends_first ? first_succeeds : second_succeeds);
                EXPECT_FALSE(table.empty());
                const ExpandedKey another(bytes(16, 2));
                const KeyTable::Held its = table.hold(another, false);
                EXPECT_NE(its.number, number[0]) << "the slot has not been zeroed yet";
                table.release(its, true);
                table.wiped(first_ends_first ? second : first, first_ends_first ? second_succeeds : first_succeeds);
                table.forget(another.serial());
                std::vector<std::uint32_t> left{its.number};
                if (!first_succeeds && !second_succeeds) left.insert(left.begin(), number[0]);
                EXPECT_EQ(wipe(table, unattended).numbers, left);
            }
        }
    }
}

TEST(KeyTable, WipesNeighboursAtOnceAndNothingElse) {
    KeyTable table;
    std::vector<std::unique_ptr<ExpandedKey>> keys;
    std::vector<std::uint32_t> numbers;
    for (unsigned i = 0; i < 12; ++i) {
        keys.push_back(std::make_unique<ExpandedKey>(bytes(16, i)));
        const KeyTable::Held held = table.hold(*keys.back(), false);
        numbers.push_back(held.number);
        EXPECT_EQ(cudaMemset(table.slot(held.number), 0x77, key_slot_bytes), cudaSuccess);
        table.release(held, true);
    }
    for (const unsigned i : {7U, 2U, 3U, 9U, 1U}) table.forget(keys[i]->serial());
    simt::reset();
    EXPECT_EQ(wipe(table).numbers,
              (std::vector<std::uint32_t>{numbers[1], numbers[2], numbers[3], numbers[7], numbers[9]}));
    EXPECT_EQ(simt::calls("cudaMemsetAsync"), 3U);
    for (unsigned i = 0; i < 12; ++i) {
        const bool gone = i == 1 || i == 2 || i == 3 || i == 7 || i == 9;
        EXPECT_EQ(contents(table, numbers[i]), std::vector<std::uint8_t>(key_slot_bytes, gone ? 0 : 0x77)) << i;
    }
}

/// Returns how many copies of these bytes are in device memory and page-locked memory.
std::size_t found(const Bytes& wanted) {
    std::size_t n = 0;
    simt::look_at_memory([&](cudaMemoryType, std::span<const std::uint8_t> memory) {
        auto at = std::search(memory.begin(), memory.end(), wanted.begin(), wanted.end());
        for (; at != memory.end(); at = std::search(at + 1, memory.end(), wanted.begin(), wanted.end())) ++n;
    });
    return n;
}

MessageGroup counter_group(const ExpandedKey& key, const Bytes& iv, const Bytes& text, Bytes& output) {
    output.assign(text.size(), 0);
    MessageGroup g{};
    g.mode = Mode::ctr;
    g.direction = Direction::encrypt;
    g.length = text.size();
    g.input.first = const_cast<std::uint8_t*>(text.data());
    g.output.first = output.data();
    g.iv.first = const_cast<std::uint8_t*>(iv.data());
    g.iv_length = 16;
    g.key = &key;
    return g;
}

TEST(KeyTable, AKeyThatEndsGoesWithTheNextBatch) {
    const auto lane = cuda_backend().open_lane(0, 0);
    const Bytes text = bytes(100, 9), iv = bytes(16, 3), bytes_of_key = bytes(32, 101);
    Bytes outputs[2];
    const ExpandedKey another(bytes(32, 102)), a_third(bytes(32, 103));  // a single key needs no table
    const auto run = [&](const ExpandedKey& a, const ExpandedKey& b) {
        const std::vector<MessageGroup> groups{counter_group(a, iv, text, outputs[0]),
                                               counter_group(b, iv, text, outputs[1])};
        lane->run(groups);
    };
    auto key = std::make_unique<ExpandedKey>(bytes_of_key);  // its first two round keys are the key
    run(*key, another);
    EXPECT_NE(found(bytes_of_key), 0u) << "the key is elsewhere, so this tests nothing";
    key.reset();
    run(another, a_third);
    EXPECT_EQ(found(bytes_of_key), 0u);
}

/// Runs repeated batches with several keys. Some keys are replaced by other keys at the same address.
TEST(KeyTable, BatchesFindTheRightKeys) {
    const auto lane = cuda_backend().open_lane(0, 0);
    const Bytes text = bytes(100, 9), iv = bytes(16, 3);
    std::vector<std::unique_ptr<ExpandedKey>> keys(5);
    std::vector<Bytes> outputs(keys.size());
    for (unsigned turn = 0; turn < 6; ++turn) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (turn == 0 || (turn + i) % 3 == 0) keys[i] = std::make_unique<ExpandedKey>(bytes(16, 10 * turn + i % 2));
        }
        std::vector<MessageGroup> groups;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            groups.push_back(counter_group(*keys[i], iv, text, outputs[i]));
        }
        lane->run(groups);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const Bytes key(keys[i]->bytes().begin(), keys[i]->bytes().end());
            EXPECT_EQ(outputs[i], *oracle::evp("CTR", true, key, iv, text)) << "turn " << turn << ", key " << i;
        }
    }
}

}  // namespace
}  // namespace warpaes::cuda
