// Tests every kind of memory that the library allocates for callers. tests/secrets checks that freed memory is wiped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace abi_tests {
namespace {

class AllocatedMemory : public BackendTest {};

TEST_P(AllocatedMemory, OfTheHost) {
    const Key key = make_key(Bytes(16, 7));
    for (const warpaes_memory kind : {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED}) {
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{100000}, std::size_t{3} << 20}) {
            for (int round = 0; round < 2; ++round) {  // the second round may get the same memory
                void* pointer = nullptr;
                ASSERT_EQ(warpaes_alloc(engine_.get(), kind, 0, bytes, &pointer), WARPAES_OK) << warpaes_last_error();
                ASSERT_NE(pointer, nullptr);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 4096, 0U);
                auto* const memory = static_cast<std::uint8_t*>(pointer);
                EXPECT_TRUE(std::all_of(memory, memory + bytes, [](std::uint8_t b) { return b == 0; })) << "not zeroed";
                std::memset(pointer, 0x5a, bytes);
                const std::size_t whole = bytes / 16 * 16;
                Call message = make_message(WARPAES_ECB, WARPAES_ENCRYPT, key, {}, pointer, whole, pointer, whole);
                EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
                EXPECT_TRUE(Bytes(memory, memory + whole) ==
                            expected(WARPAES_ECB, WARPAES_ENCRYPT, Bytes(16, 7), {}, Bytes(whole, 0x5a)));
                warpaes_free(engine_.get(), pointer);
            }
        }
        // An allocation of 0 bytes must also be freed, and many such allocations may exist at once.
        std::vector<void*> many(50);
        for (void*& pointer : many) {
            ASSERT_EQ(warpaes_alloc(engine_.get(), kind, 0, 0, &pointer), WARPAES_OK) << warpaes_last_error();
            EXPECT_NE(pointer, nullptr);
        }
        std::sort(many.begin(), many.end());
        EXPECT_EQ(std::adjacent_find(many.begin(), many.end()), many.end());
        for (void* pointer : many) warpaes_free(engine_.get(), pointer);
    }
}

TEST_P(AllocatedMemory, OnlyWhatTheEngineGaveIsFreed) {
    const Engine other = make_engine(GetParam());
    Bytes own(10000, 3);
    void* pointer = nullptr;
    ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 10000, &pointer), WARPAES_OK);
    auto* const memory = static_cast<std::uint8_t*>(pointer);
    std::memset(memory, 0x5a, 10000);
    warpaes_free(engine_.get(), nullptr);
    warpaes_free(nullptr, pointer);
    warpaes_free(engine_.get(), own.data());
    warpaes_free(engine_.get(), memory + 1);
    warpaes_free(engine_.get(), memory + 4096);
    warpaes_free(other.get(), pointer);
    EXPECT_EQ(own, Bytes(10000, 3));
    EXPECT_TRUE(std::all_of(memory, memory + 10000, [](std::uint8_t b) { return b == 0x5a; }));
    warpaes_free(engine_.get(), pointer);
    warpaes_free(engine_.get(), pointer);  // the library no longer recognizes this pointer
    // Destroying an engine frees its remaining memory.
    ASSERT_EQ(warpaes_alloc(other.get(), WARPAES_MEMORY_PAGEABLE, 0, 10000, &pointer), WARPAES_OK);
}

TEST_P(AllocatedMemory, WhatCannotBeIsRefused) {
    const auto refused = [&](warpaes_status wanted, const std::string& words, warpaes_engine* engine, int kind,
                             std::uint64_t bytes) {
        int somewhere = 0;
        void* pointer = &somewhere;
        EXPECT_EQ(warpaes_alloc(engine, static_cast<warpaes_memory>(kind), 0, bytes, &pointer), wanted) << words;
        EXPECT_EQ(pointer, nullptr);
        EXPECT_EQ(std::string(warpaes_last_error()).find(words), 0U) << warpaes_last_error();
    };
    warpaes_engine* const engine = engine_.get();
    refused(WARPAES_ERROR_ARGUMENT, "engine: is null", nullptr, WARPAES_MEMORY_PAGEABLE, 16);
    refused(WARPAES_ERROR_ARGUMENT, "memory", engine, WARPAES_MEMORY_SHARED, 16);
    refused(WARPAES_ERROR_ARGUMENT, "memory", engine, 4, 16);
    refused(WARPAES_ERROR_ARGUMENT, "memory", engine, -1, 16);
    for (const int kind : {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_DEVICE}) {
        for (const std::uint64_t bytes : {(std::uint64_t{1} << 60) + 1, UINT64_MAX}) {
            refused(WARPAES_ERROR_ARGUMENT, "bytes", engine, kind, bytes);
        }
    }
    refused(WARPAES_ERROR_OUT_OF_MEMORY, "bytes", engine, WARPAES_MEMORY_PAGEABLE, std::uint64_t{1} << 60);
    EXPECT_EQ(warpaes_alloc(engine, WARPAES_MEMORY_PAGEABLE, 0, 16, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "pointer: is null");
    if (usable_devices().empty()) refused(WARPAES_ERROR_BACKEND, "", engine, WARPAES_MEMORY_DEVICE, 16);
}

WARPAES_FOR_EVERY_BACKEND(AllocatedMemory);

class AllocatedOnDevice : public DeviceTest {};

TEST_P(AllocatedOnDevice, IsZeroedAndAligned) {
    for (const std::size_t bytes : {1U, 255U, 5000U, 100000U}) {
        for (int round = 0; round < 2; ++round) {
            void* pointer = nullptr;
            ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, GetParam(), bytes, &pointer), WARPAES_OK)
                << warpaes_last_error();
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0U);
            Bytes now(bytes, 1);
            copy(now.data(), pointer, bytes);
            EXPECT_EQ(now, Bytes(bytes, 0));
            copy(pointer, Bytes(bytes, 0x77).data(), bytes);
            warpaes_free(engine_.get(), pointer);
        }
    }
}

WARPAES_FOR_EVERY_DEVICE(AllocatedOnDevice);

}  // namespace
}  // namespace abi_tests
