// Tests the C++ headers' functions for GPUs on the simulated GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <warpaes/batch.hpp>

#include "evp_oracle.hpp"

namespace {

using oracle::Bytes;

TEST(HppDevice, CopiesAndEncryptsWhatLiesThere) {
    const warpaes::Engine engine({.backend = "cuda"});
    Bytes key_bytes(32), iv(16), text(10000);
    std::iota(key_bytes.begin(), key_bytes.end(), std::uint8_t{1});
    std::iota(text.begin(), text.end(), std::uint8_t{2});
    const warpaes::Key key(key_bytes);
    const Bytes want = *oracle::evp("CTR", true, key_bytes, iv, text);

    const warpaes::DeviceBuffer memory(engine, 0, text.size());
    engine.copy(memory.bytes(), text);
    const warpaes::Message message{.mode = warpaes::Mode::ctr,
                                   .direction = warpaes::Direction::encrypt,
                                   .key = &key,
                                   .iv = iv,
                                   .input = memory.bytes(),
                                   .output = memory.bytes()};
    for (const bool at_once : {true, false}) {
        const warpaes::Result result = at_once ? engine.crypt_async(message) : engine.crypt(message);
        EXPECT_EQ(result.backend, "cuda");
        EXPECT_EQ(result.device, 0);
        EXPECT_EQ(result.output_len, text.size());
        Bytes there(text.size());
        engine.copy(there, memory.bytes());
        EXPECT_TRUE(there == (at_once ? want : text));
    }
}

TEST(HppDevice, EnqueuesEntriesAndTables) {
    const warpaes::Engine engine({.backend = "cuda"});
    const Bytes key_bytes(16, 9), iv(16, 4), text(1000, 5);
    const warpaes::Key key(key_bytes);
    const Bytes want = *oracle::evp("CTR", true, key_bytes, iv, text);
    const warpaes::DeviceBuffer memory(engine, 0, text.size() + 64);
    std::uint8_t* const at = memory.bytes().data();
    Bytes there(text.size());

    engine.copy(warpaes::Bytes(at, text.size()), text);
    warpaes::Entry entry{.mode = warpaes::Mode::ctr,
                         .direction = warpaes::Direction::encrypt,
                         .length = text.size(),
                         .key = &key,
                         .input = {at},
                         .output = {at},
                         .iv = {iv.data()},
                         .iv_len = 15};
    EXPECT_THROW(warpaes::enqueue(engine, {entry}, nullptr), warpaes::Error);
    entry.iv_len = 16;
    warpaes::enqueue(engine, {entry}, nullptr);
    engine.copy(there, warpaes::Bytes(at, text.size()));
    EXPECT_TRUE(there == want);

    warpaes_table_message messages[2] = {};
    messages[0].length = text.size();
    messages[1].input = text.size() + 1;
    messages[1].length = 1000;
    const warpaes::DeviceBuffer statuses(engine, 0, sizeof(warpaes_status) * 2);
    warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
    table.mode = WARPAES_CTR;
    table.direction = WARPAES_DECRYPT;
    table.key = key.get();
    table.iv_len = 16;
    table.messages = messages;
    table.count = 2;
    table.input = table.output = {at, text.size()};
    table.iv = {const_cast<std::uint8_t*>(iv.data()), iv.size()};
    table.statuses = reinterpret_cast<warpaes_status*>(statuses.bytes().data());
    warpaes::enqueue(engine, table, nullptr);
    engine.copy(there, warpaes::Bytes(at, text.size()));
    EXPECT_TRUE(there == text);
    Bytes raw(sizeof(warpaes_status) * 2);
    engine.copy(raw, statuses.bytes());
    warpaes_status found[2];
    std::memcpy(found, raw.data(), sizeof found);
    EXPECT_EQ(found[0], WARPAES_OK);
    EXPECT_EQ(found[1], WARPAES_ERROR_RANGE);

    table.input.pointer = nullptr;
    EXPECT_THROW(warpaes::enqueue(engine, table, nullptr), warpaes::Error);
}

TEST(HppDevice, IsListedWithWhatItHas) {
    bool listed = false;
    const auto list = warpaes::backends();
    for (std::size_t i = 0; i < list.size(); ++i) {
        warpaes_backend_info raw{};
        raw.struct_size = sizeof raw;
        ASSERT_EQ(warpaes_backend_query(i, &raw), WARPAES_OK);
        EXPECT_EQ(std::tuple(list[i].name, list[i].device, list[i].multiprocessors, list[i].memory_bytes),
                  std::tuple(raw.name, raw.device, raw.multiprocessors, raw.memory_bytes));
        if (list[i].name != "cuda") continue;
        listed = true;
        EXPECT_GT(list[i].multiprocessors, 0);
        EXPECT_GT(list[i].memory_bytes, 0U);
    }
    EXPECT_TRUE(listed);
}

TEST(HppDevice, WhatCannotBeIsThrown) {
    const warpaes::Engine engine({.backend = "cuda"});
    EXPECT_THROW((warpaes::DeviceBuffer(engine, 99, 16)), warpaes::Error);
    const Bytes key_bytes(16), iv(16);
    Bytes here(16);
    const warpaes::Key key(key_bytes);
    EXPECT_THROW((void)engine.crypt_async({.mode = warpaes::Mode::ctr,
                                           .direction = warpaes::Direction::encrypt,
                                           .key = &key,
                                           .iv = iv,
                                           .input = here,
                                           .output = here}),
                 warpaes::Error);
    const warpaes::DeviceBuffer memory(engine, 0, 16);
    EXPECT_THROW(engine.copy(warpaes::Bytes(here.data(), 15), memory.bytes()), warpaes::Error);
}

}  // namespace
