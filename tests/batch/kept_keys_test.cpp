// Tests key material that is cached between batches, in host memory and on a simulated GPU, and its removal by a flush,
// after a timeout, and when the engine is destroyed.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "abi_batch.hpp"
#include "base/secret.hpp"
#include "capi/handles.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::uint8_t mask = 0x5c;
using MaskedKey = std::array<std::uint8_t, key_bytes>;

/// Returns a masked copy of a key, which a search of the memory does not find.
MaskedKey masked_key(std::uint8_t seed) {
    MaskedKey key{};
    for (std::size_t i = 0; i < key_bytes; ++i) key[i] = static_cast<std::uint8_t>((i * 73 + seed) ^ 0x77 ^ mask);
    return key;
}

bool is_at(const std::uint8_t* memory, const MaskedKey& key) {
    for (std::size_t i = 0; i < key_bytes; ++i) {
        if (memory[i] != static_cast<std::uint8_t>(key[i] ^ mask)) return false;
    }
    return true;
}

/// Counts the occurrences of the key for which `holds(rest of memory)` is true.
template <typename Holds>
std::size_t count(std::span<const std::uint8_t> memory, const MaskedKey& key, const Holds& holds) {
    std::size_t found = 0;
    while (memory.size() >= key_bytes) {
        const void* const next = std::memchr(memory.data(), key[0] ^ mask, memory.size() - key_bytes + 1);
        if (next == nullptr) break;
        memory = memory.subspan(static_cast<std::size_t>(static_cast<const std::uint8_t*>(next) - memory.data()));
        if (is_at(memory.data(), key) && holds(memory)) ++found;
        memory = memory.subspan(1);
    }
    return found;
}

/// Counts the copies of the key in the device's key slots. The first two round keys of AES-256 are the key itself.
std::size_t on_devices(const MaskedKey& key) {
    std::size_t found = 0;
    simt::look_at_memory([&](cudaMemoryType, std::span<const std::uint8_t> memory) {
        found += count(memory, key, [](auto) { return true; });
    });
    return found;
}

/// Counts the expanded keys in host memory: a key followed by its round keys. It reads the memory through a file while
/// other threads run. It copies the bytes to shared memory, which the search skips, so that it does not find its own
/// copy.
std::size_t on_host(const MaskedKey& key) {
    constexpr std::size_t bytes = std::size_t{1} << 20, reach = 3 * key_bytes;
    void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    std::FILE* const all = std::fopen("/proc/self/mem", "rb");
    if (shared == MAP_FAILED || all == nullptr) throw std::bad_alloc();
    std::setvbuf(all, nullptr, _IONBF, 0);
    const std::span<std::uint8_t> chunk(static_cast<std::uint8_t*>(shared), bytes);
    std::size_t found = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        char access[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
        // A sanitizer's shadow memory is terabytes long.
        if (std::string(access) != "rw-p" || end - begin > std::uint64_t{1} << 32) continue;
        for (unsigned long at = begin; at < end; at += bytes - reach + 1) {
            if (std::fseek(all, static_cast<long>(at), SEEK_SET) != 0) break;
            const std::size_t n = std::fread(chunk.data(), 1, std::min<std::size_t>(bytes, end - at), all);
            found += count(chunk.first(n), key, [&](auto rest) {
                // A key that lies across the end of this chunk is complete in the next chunk.
                for (std::size_t i = key_bytes; rest.size() >= reach && i + key_bytes <= reach; ++i) {
                    if (is_at(rest.data() + i, key)) return true;
                }
                return false;
            });
        }
    }
    (void)std::fclose(all);
    munmap(shared, bytes);
    return found;
}

class KeptKeys : public testing::Test {
protected:
    void SetUp() override { simt::reset(); }

    AbiEngine make(std::chrono::milliseconds kept) {
        return AbiEngine(
            new warpaes_engine(EngineOptions{.backend = "cuda", .device = -1, .threads = 2, .keys_kept = kept}));
    }
    /// Runs a batch under two keys, passed as bytes or as handles. The caller's copies are wiped.
    AbiBatchHandle run(const AbiEngine& engine, bool with_handles) {
        std::vector<std::uint8_t> bytes(2 * key_bytes), text(2 * 64), iv(16);
        std::vector<AbiKey> handles;
        std::array<warpaes_batch_entry, 2> entries{};
        for (std::size_t i = 0; i < 2; ++i) {
            std::uint8_t* const key = bytes.data() + i * key_bytes;
            for (std::size_t b = 0; b < key_bytes; ++b) key[b] = static_cast<std::uint8_t>(keys_[i][b] ^ mask);
            warpaes_batch_entry& e = entries[i];
            e.mode = WARPAES_CTR;
            e.direction = WARPAES_ENCRYPT;
            e.count = 2;
            e.length = 32;
            e.input.at.pointer = e.output.at.pointer = text.data() + 64 * i;
            e.input.stride = e.output.stride = 32;
            e.iv.at.pointer = iv.data();
            e.iv_len = 16;
            if (with_handles) {
                e.key = handles.emplace_back(make_key({key, key_bytes})).get();
            } else {
                e.keys.at.pointer = key;
                e.key_len = key_bytes;
            }
        }
        warpaes_batch* batch = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.data(), entries.size(), &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
        wipe(bytes);
        return AbiBatchHandle(batch);
    }
    /// Counts both keys.
    std::size_t on_devices() { return test::on_devices(keys_[0]) + test::on_devices(keys_[1]); }
    std::size_t on_host() { return test::on_host(keys_[0]) + test::on_host(keys_[1]); }

    const std::array<MaskedKey, 2> keys_{masked_key(19), masked_key(91)};
};

constexpr std::chrono::milliseconds for_ever{std::chrono::hours(1)};

// Keys are wiped even if the worker is never idle: it starts the second batch before it finishes the first.
TEST_F(KeptKeys, ABusyEngineLetsThemGoToo) {
    struct Second {
        warpaes_engine* engine = nullptr;
        MaskedKey key{};
        std::array<std::uint8_t, 64> text{}, other_key{};
        std::size_t before = 0, after = 0;
        std::array<warpaes_batch_entry, 2> entries{};
        AbiBatchHandle first, second;
        std::promise<void> done;

        AbiBatchHandle submit(warpaes_batch_entry& e, std::uint8_t* with, void (*finished)(void*, warpaes_batch*)) {
            e.mode = WARPAES_CTR;
            e.direction = WARPAES_ENCRYPT;
            e.count = 2;
            e.length = e.input.stride = e.output.stride = 16;
            e.input.at.pointer = e.output.at.pointer = text.data();
            e.iv.at.pointer = text.data() + 32;
            e.iv_len = 16;
            e.keys.at.pointer = with;
            e.key_len = key_bytes;
            warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
            options.finished = finished;
            options.user = this;
            warpaes_batch* batch = nullptr;
            EXPECT_EQ(warpaes_batch_submit(engine, &options, &e, 1, &batch), WARPAES_OK) << warpaes_last_error();
            return AbiBatchHandle(batch);
        }
    };
    const AbiEngine engine(new warpaes_engine(
        EngineOptions{.backend = "libcrypto", .device = -1, .threads = 1, .keys_kept = std::chrono::milliseconds(0)}));
    Second its;
    its.engine = engine.get();
    its.key = keys_[0];
    std::vector<std::uint8_t> key(key_bytes);
    for (std::size_t b = 0; b < key_bytes; ++b) key[b] = static_cast<std::uint8_t>(keys_[0][b] ^ mask);
    its.first = its.submit(its.entries[0], key.data(), [](void* user, warpaes_batch*) {
        auto& second = *static_cast<Second*>(user);
        second.before = test::on_host(second.key);
        second.second = second.submit(second.entries[1], second.other_key.data(), [](void* again, warpaes_batch*) {
            auto& last = *static_cast<Second*>(again);
            last.after = test::on_host(last.key);
            last.done.set_value();
        });
    });
    its.done.get_future().wait();
    EXPECT_EQ(its.before, 1u) << "no key is cached, so this tests nothing";
    EXPECT_EQ(its.after, 0u);
    wipe(key);
}

TEST_F(KeptKeys, AFlushLeavesNothing) {
    for (const bool with_handles : {false, true}) {
        const AbiEngine engine = make(for_ever);
        const AbiBatchHandle batch = run(engine, with_handles);
        EXPECT_EQ(on_devices(), 2u) << "no key is cached, so this tests nothing";
        EXPECT_EQ(on_host(), with_handles ? 0u : 2u);
        ASSERT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(on_devices(), 0u);
        EXPECT_EQ(on_host(), 0u);
    }
}

/// Tests a flush that waits for the GPU while a batch leaves destroyed keys, another flush runs, or another engine is
/// destroyed.
TEST_F(KeptKeys, AFlushIsNotDisturbedByOthers) {
    const AbiEngine engine = make(for_ever);
    const std::pair<const char*, std::function<void()>> others[] = {
        {"keys are destroyed", [&] { (void)run(engine, true); }},
        {"a flush", [&] { EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK) << warpaes_last_error(); }},
        {"a batch and a flush",
         [&] {
             (void)run(engine, true);
             EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK) << warpaes_last_error();
         }},
        {"an engine goes", [&] { (void)run(make(for_ever), false); }},
    };
    for (const auto& [name, act] : others) {
        for (const bool with_handles : {false, true}) {
            SCOPED_TRACE(name);
            (void)run(engine, with_handles);
            bool acted = false;
            const auto flushing = std::this_thread::get_id();
            simt::on_call([&, act = act](std::string_view function) {
                if (function != "cudaStreamSynchronize" || std::this_thread::get_id() != flushing || acted) return;
                acted = true;
                std::thread(act).join();
            });
            EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK) << warpaes_last_error();
            simt::on_call({});
            EXPECT_TRUE(acted);
            EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(on_devices(), 0U);
        }
    }
}

TEST_F(KeptKeys, AFlushSaysIfItFails) {
    const AbiEngine engine = make(for_ever);
    (void)run(engine, false);
    for (const char* const function : {"cudaMemsetAsync", "cudaStreamSynchronize"}) {
        simt::reset();
        simt::fail_call(function, 1, cudaErrorUnknown);
        EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_ERROR_DEVICE) << function;
    }
    EXPECT_EQ(warpaes_engine_flush_keys(engine.get()), WARPAES_OK);
    EXPECT_EQ(on_devices(), 0u);
    EXPECT_EQ(warpaes_engine_flush_keys(nullptr), WARPAES_ERROR_ARGUMENT);
}

TEST_F(KeptKeys, WhatNobodyUsesGoesByItself) {
    for (const bool with_handles : {false, true}) {
        const AbiEngine engine = make(std::chrono::milliseconds(20));
        // The cached material is created and removed several times.
        for (int time = 0; time < 4; ++time) {
            (void)run(engine, with_handles);
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            while (on_devices() + on_host() != 0 && std::chrono::steady_clock::now() < end) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
            ASSERT_EQ(on_devices() + on_host(), 0u) << time;
        }
    }
}

TEST_F(KeptKeys, TheEngineTakesThemAlong) {
    for (const bool with_handles : {false, true}) {
        AbiEngine engine = make(for_ever);
        const AbiBatchHandle batch = run(engine, with_handles);
        ASSERT_NE(on_devices(), 0u);
        engine.reset();
        EXPECT_EQ(on_devices() + on_host(), 0u);
    }
}

}  // namespace
}  // namespace warpaes::test
