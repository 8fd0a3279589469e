// Tests batches whose messages lie completely or partly in device memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "../why_skipped.hpp"
#include "abi_batch.hpp"
#include "device_memory.hpp"
#include "evp_oracle.hpp"

namespace warpaes::test {
namespace {

/// Uses an engine that is forced to the GPU, and an engine that chooses a backend.
class AbiBatchDevice : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (devices() == 0) GTEST_SKIP() << needs_gpu("none can be used here");
        engine_ = make_engine(GetParam());
        ASSERT_NE(engine_, nullptr);
    }
    AbiEngine engine_;
};

TEST_P(AbiBatchDevice, MessagesRunWhereTheyLie) {
    for (int device = 0; device < devices(); ++device) {
        DeviceMemory memory(engine_, device);
        std::mt19937 random(static_cast<std::uint32_t>(device) + 1);
        check_abi_batch(engine_, random_batch(random, simulated() ? 16 : 100, limits()), 7, memory, memory);
    }
}

TEST_P(AbiBatchDevice, BesideMessagesElsewhere) {
    std::mt19937 random(3);
    std::vector<std::unique_ptr<DeviceMemory>> memories;
    std::vector<std::unique_ptr<BatchCase>> cases;
    std::vector<std::unique_ptr<AbiEntries>> parts;
    std::vector<warpaes_batch_entry> entries;
    for (int device = -1; device < devices(); ++device) {
        std::vector<GroupSpec> specs;
        for (const Mode mode : {Mode::ctr, Mode::cbc, Mode::gcm}) {
            specs.push_back({.mode = mode, .count = 5, .length = 96, .iv_length = mode == Mode::gcm ? 12U : 16U});
        }
        memories.push_back(std::make_unique<DeviceMemory>(engine_, device));
        BatchMemory& memory = device < 0 ? guarded_memory() : *memories.back();
        cases.push_back(std::make_unique<BatchCase>(specs, random(), memory, memory));
        parts.push_back(std::make_unique<AbiEntries>(*cases.back()));
        entries.insert(entries.end(), parts.back()->entries().begin(), parts.back()->entries().end());
    }
    std::rotate(entries.begin(), entries.begin() + 2, entries.end());
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_CHECK_NONCES;
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, entries.data(), entries.size(), &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    for (const auto& c : cases) EXPECT_EQ(c->complaints(), "");
}

// Tests long CBC messages, which become separate tasks, among many other entries. Entries of the same shape form a
// group, whatever their order.
TEST_P(AbiBatchDevice, LongChainsAmongManyEntriesInAnyOrder) {
    std::mt19937 random(4);
    std::vector<GroupSpec> specs(300, {.mode = Mode::ctr, .count = 1, .length = 64, .iv_length = 16});
    for (std::size_t i = 0; i < specs.size(); i += 7) specs[i].length = 16 + i;
    for (std::uint64_t i = 0; i < 9; ++i) {
        specs.push_back({.mode = Mode::cbc, .count = 1, .length = 4096 + 16 * (i % 3), .iv_length = 16});
    }
    DeviceMemory memory(engine_, 0);
    const BatchCase c(specs, 5, memory, memory);
    AbiEntries parts(c);
    std::vector<warpaes_batch_entry> entries(parts.entries().begin(), parts.entries().end());
    std::shuffle(entries.begin(), entries.end(), random);
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), entries.size(), &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(c.complaints(), "");
    warpaes_batch_result result = {};
    result.struct_size = sizeof result;
    ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
    EXPECT_EQ(result.messages_on_gpu, specs.size());
}

TEST_P(AbiBatchDevice, AnArenaBeginsZeroed) {
    for (const std::size_t bytes : {1, 10001}) {
        const AbiArena arena = make_arena(engine_, bytes, WARPAES_MEMORY_DEVICE, 0);
        std::vector<std::uint8_t> got(bytes, 0xee);
        ASSERT_EQ(warpaes_copy(engine_.get(), got.data(), warpaes_arena_data(arena.get()), bytes), WARPAES_OK);
        EXPECT_EQ(got, std::vector<std::uint8_t>(bytes));
    }
}

TEST_P(AbiBatchDevice, WhatDoesNotLieOnTheDeviceComesThere) {
    const AbiArena arena = make_arena(engine_, 4096, WARPAES_MEMORY_DEVICE, 0);
    auto* const there = static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    std::vector<std::uint8_t> here(64);
    warpaes_batch_entry e{};
    e.mode = WARPAES_CTR;
    e.direction = WARPAES_ENCRYPT;
    e.count = 1;
    e.length = 64;
    e.key = key.get();
    e.input.at.pointer = e.output.at.pointer = there;
    e.iv.at.pointer = here.data();
    e.iv_len = 16;
    warpaes_batch* batch = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    warpaes_batch_destroy(batch);
    std::vector<std::uint8_t> got(64);
    ASSERT_EQ(warpaes_copy(engine_.get(), got.data(), there, 64), WARPAES_OK);
    EXPECT_EQ(got, *oracle::evp("CTR", true, std::vector<std::uint8_t>(16, 1), std::vector<std::uint8_t>(16),
                                std::vector<std::uint8_t>(64)));
    std::fill(here.begin() + 16, here.end(), std::uint8_t{0xee});
    e.output.at.pointer = here.data() + 16;
    e.length = 32;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    warpaes_batch_destroy(batch);
    // Both messages are encrypted with the same key stream.
    std::vector<std::uint8_t> expected(64, 0xee);
    std::fill(expected.begin(), expected.begin() + 48, std::uint8_t{0});
    EXPECT_EQ(here, expected);
}

// The memory of the second entry is the arena of the batch. The third entry is like the second, but its memory is that
// of the first.
TEST_P(AbiBatchDevice, LikeEntriesInAnArenaAndElsewhere) {
    for (const warpaes_memory kind : {WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_DEVICE}) {
        const bool is_host = kind == WARPAES_MEMORY_PAGE_LOCKED;
        const AbiArena arena = make_arena(engine_, 128, kind, 0),
                       elsewhere = make_arena(engine_, 128, is_host ? WARPAES_MEMORY_DEVICE : kind, 0);
        std::vector<std::uint8_t> host(128);
        const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
        auto* const in_arena = static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
        auto* const other = is_host ? static_cast<std::uint8_t*>(warpaes_arena_data(elsewhere.get())) : host.data();
        std::vector<warpaes_batch_entry> entries;
        for (std::uint8_t* const at : {other, in_arena, other + 64}) {
            warpaes_batch_entry& e = entries.emplace_back();
            e = {};
            e.mode = WARPAES_ECB;
            e.direction = WARPAES_ENCRYPT;
            e.count = 1;
            e.length = 32;
            e.key = key.get();
            e.input.at.pointer = at;
            e.output.at.pointer = at + 32;
        }
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.arena = arena.get();
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, entries.data(), entries.size(), &handle), WARPAES_OK);
        const AbiBatchHandle batch(handle);
        EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
        warpaes_batch_result result = {};
        result.struct_size = sizeof result;
        ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        if (GetParam() == "auto") {
            EXPECT_EQ(result.messages_on_gpu, is_host ? 2 : 1);
        }
        for (const warpaes_batch_entry& e : entries) {
            std::vector<std::uint8_t> got(32);
            ASSERT_EQ(warpaes_copy(engine_.get(), got.data(), e.output.at.pointer, 32), WARPAES_OK);
            EXPECT_EQ(got,
                      *oracle::evp("ECB", true, std::vector<std::uint8_t>(16, 1), {}, std::vector<std::uint8_t>(32)));
        }
    }
}

// Entries that differ only in addresses and keys are checked faster. Some of their buffers are in host memory.
TEST_P(AbiBatchDevice, LikeEntriesInOtherMemory) {
    constexpr unsigned count = 8;
    constexpr std::size_t length = 48, room = 64;
    using Bytes = std::vector<std::uint8_t>;
    const AbiArena arena = make_arena(engine_, 3 * count * room, WARPAES_MEMORY_DEVICE, 0);
    auto* const there = static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
    Bytes here(3 * count * room);
    for (std::size_t i = 0; i < here.size(); ++i) here[i] = static_cast<std::uint8_t>(i * 2654435761U >> 11);
    for (const unsigned on_host : {0U, 1U, 2U, 3U, 4U, 7U}) {  // a bit each for input, output and IV
        ASSERT_EQ(warpaes_copy(engine_.get(), there, here.data(), here.size()), WARPAES_OK);
        const Bytes before = here;
        std::vector<AbiKey> keys;
        std::vector<warpaes_batch_entry> entries(count);
        for (unsigned n = 0; n < count; ++n) {
            keys.push_back(make_key(Bytes(16, static_cast<std::uint8_t>(n + 1))));
            const auto at = [&](unsigned part) {
                std::uint8_t* const base = n % 3 == 1 && (on_host >> part & 1) != 0 ? here.data() : there;
                return base + (part * count + n) * room;
            };
            warpaes_batch_entry& e = entries[n];
            e.mode = WARPAES_CTR;
            e.direction = WARPAES_ENCRYPT;
            e.count = 1;
            e.length = length;
            e.key = keys.back().get();
            e.input.at.pointer = at(0);
            e.output.at.pointer = at(1);
            e.iv.at.pointer = at(2);
            e.iv_len = 16;
        }
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), entries.size(), &handle), WARPAES_OK);
        const AbiBatchHandle batch(handle);
        EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
        warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
        ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        const unsigned on_cpu = GetParam() != "cuda" && on_host == 7 ? 3 : 0;
        EXPECT_EQ(result.messages_on_gpu, count - on_cpu);
        for (unsigned n = 0; n < count; ++n) {
            const auto part = [&](unsigned i, std::size_t bytes) {
                const auto first = before.begin() + static_cast<std::ptrdiff_t>((i * count + n) * room);
                return Bytes(first, first + static_cast<std::ptrdiff_t>(bytes));
            };
            Bytes got(length);
            ASSERT_EQ(warpaes_copy(engine_.get(), got.data(), entries[n].output.at.pointer, length), WARPAES_OK);
            EXPECT_EQ(got, *oracle::evp("CTR", true, Bytes(16, static_cast<std::uint8_t>(n + 1)), part(2, 16),
                                        part(0, length)))
                << "entry " << n << ", on the host: " << on_host;
        }
    }
}

// The bytes between messages belong to other data, such as a record's tag or another entry's messages.
TEST_P(AbiBatchDevice, OfMessagesThatAreRefusedNothingElseIsWiped) {
    constexpr std::size_t count = 4, length = 4096;
    for (const std::size_t gap : {std::size_t{0}, std::size_t{1}, std::size_t{32}, length}) {
        DeviceMemory memory(engine_, 0);
        const std::size_t stride = length + gap, bytes = count * stride;
        std::uint8_t* const there = memory.allocate(bytes);
        std::vector<std::uint8_t> text(bytes, 0x77), ivs(count * 12), tags(count * 16);
        memory.write(there, text);
        for (std::size_t i = 0; i < count; ++i) ivs[12 * i] = static_cast<std::uint8_t>(i);
        const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
        warpaes_batch_entry e{};
        e.mode = WARPAES_GCM;
        e.direction = WARPAES_DECRYPT;
        e.count = count;
        e.length = length;
        e.key = key.get();
        e.input.at.pointer = e.output.at.pointer = there;
        e.input.stride = e.output.stride = stride;
        e.iv.at.pointer = ivs.data();
        e.iv.stride = e.iv_len = 12;
        e.tag.at.pointer = tags.data();
        e.tag.stride = e.tag_len = 16;
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_ERROR_AUTHENTICATION);
        warpaes_batch_destroy(batch);
        std::vector<std::uint8_t> expected = text;
        for (std::size_t i = 0; i < count; ++i) std::fill_n(expected.data() + i * stride, length, std::uint8_t{0});
        memory.read(text, there);
        memory.release(there, bytes);
        EXPECT_TRUE(text == expected) << gap;
    }
}

TEST_P(AbiBatchDevice, NoncesInDeviceMemory) {
    const AbiArena arena = make_arena(engine_, 4096, WARPAES_MEMORY_DEVICE, 0);
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    warpaes_batch_entry e{};
    e.mode = WARPAES_GCM;
    e.direction = WARPAES_ENCRYPT;
    e.count = 2;
    e.length = 64;
    e.key = key.get();
    e.input.stride = e.output.stride = 64;
    e.iv.at.offset = 1024;  // all IVs are zero, so they repeat
    e.iv.stride = 12;
    e.iv_len = 12;
    e.tag.at.offset = 2048;
    e.tag.stride = 16;
    e.tag_len = 16;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_CHECK_NONCES | WARPAES_BATCH_OFFSETS;
    options.arena = arena.get();
    for (const bool same : {true, false}) {
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), same ? WARPAES_ERROR_IV_REUSED : WARPAES_OK);
        warpaes_batch_destroy(batch);
        const std::uint8_t one = 1;
        ASSERT_EQ(
            warpaes_copy(engine_.get(), static_cast<std::uint8_t*>(warpaes_arena_data(arena.get())) + 1024, &one, 1),
            WARPAES_OK);
    }
    // All messages share the same IV but have separate keys.
    auto* const there = static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
    const std::vector<std::uint8_t> iv{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, other_key(16, 1);
    ASSERT_EQ(warpaes_copy(engine_.get(), there + 1024, iv.data(), iv.size()), WARPAES_OK);
    e.iv.stride = 0;
    e.key = nullptr;
    e.keys.at.offset = 3072;
    e.keys.stride = e.key_len = 16;
    for (const bool same : {true, false}) {
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), same ? WARPAES_ERROR_IV_REUSED : WARPAES_OK);
        warpaes_batch_destroy(batch);
        ASSERT_EQ(warpaes_copy(engine_.get(), there + 3072 + 16, other_key.data(), other_key.size()), WARPAES_OK);
    }
}

INSTANTIATE_TEST_SUITE_P(Engine, AbiBatchDevice, testing::Values("cuda", "auto"),
                         [](const auto& info) { return info.param; });

TEST(AbiBatchDeviceMemory, IsNotForACpuBackend) {
    if (devices() == 0) GTEST_SKIP() << needs_gpu("none can be used here");
    const AbiEngine engine = make_engine("libcrypto");
    DeviceMemory memory(engine, 0);
    const GroupSpec spec{.mode = Mode::ctr, .length = 16};
    EXPECT_EQ(complaints_of_abi_batch(engine, {&spec, 1}, 1, memory, memory),
              "backend: 'libcrypto' was requested, but the data is in device memory");
}

}  // namespace
}  // namespace warpaes::test
