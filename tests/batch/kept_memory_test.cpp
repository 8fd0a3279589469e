// Tests memory that the engine keeps between batches on a simulated GPU. This memory does not grow and contains no
// secrets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "../gpu_first.hpp"
#include "abi_batch.hpp"
#include "capi/handles.hpp"
#include "device_memory.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

AbiEngine engine_with_gpu(const char* backend) {
    return AbiEngine(
        new warpaes_engine(EngineOptions{.backend = backend, .device = -1, .threads = 2, .costs = gpu_first()}));
}

class KeptMemory : public testing::Test {
protected:
    void SetUp() override { simt::reset(); }
};

// After the stream has executed an enqueued batch, the batch's memory is freed and the keys in it are wiped.
TEST_F(KeptMemory, OneEnqueuedBatchAfterTheOtherTakesTheSame) {
    const AbiEngine engine = engine_with_gpu("cuda");
    DeviceMemory memory(engine, 0);
    for (const bool keys_on_device : {false, true}) {
        simt::Usage first;
        for (int round = 0; round < 10; ++round) {
            {
                const BatchCase cases(
                    std::vector<GroupSpec>{{.count = 3, .length = 32, .iv_length = 0, .raw_keys = keys_on_device}}, 17,
                    memory, memory);
                AbiEntries entries(cases);
                ASSERT_EQ(warpaes_batch_enqueue(engine.get(), nullptr, entries.entries().data(), 1, nullptr),
                          WARPAES_OK)
                    << warpaes_last_error();
                EXPECT_EQ(cases.complaints(), "");
            }
            if (round == 0) first = simt::usage();
        }
        EXPECT_EQ(simt::usage(), first) << (keys_on_device ? "raw keys" : "a handle");
    }
}

warpaes_message gcm_in_place(const warpaes_key* key, const std::array<std::uint8_t, 12>& iv, void* data,
                             std::uint64_t bytes, std::array<std::uint8_t, 16>& tag) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_GCM;
    message.direction = WARPAES_ENCRYPT;
    message.key = key;
    message.iv = iv.data();
    message.iv_len = iv.size();
    message.input = message.output = data;
    message.input_len = message.output_capacity = bytes;
    message.tag = tag.data();
    message.tag_len = tag.size();
    return message;
}

// On a GPU, a message needs memory for its tag and for the sums of its thread blocks. The engine keeps the memory of
// the last message.
TEST_F(KeptMemory, OneMessageAfterTheOtherTakesTheSame) {
    const AbiEngine engine = engine_with_gpu("cuda");
    constexpr std::uint64_t bytes = 20000;
    void* data = nullptr;
    ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_DEVICE, 0, bytes, &data), WARPAES_OK) << warpaes_last_error();
    const std::array<std::uint8_t, 16> key_bytes{1};
    warpaes_key* key = nullptr;
    ASSERT_EQ(warpaes_key_create(key_bytes.data(), key_bytes.size(), &key), WARPAES_OK);
    std::array<std::uint8_t, 12> iv{};
    std::array<std::uint8_t, 16> tag{};
    const auto taken = [] { return simt::calls("cudaHostAlloc") + simt::calls("cudaMalloc"); };
    auto first = taken();
    for (int round = 0; round < 5; ++round) {
        const warpaes_message message = gcm_in_place(key, iv, data, bytes, tag);
        ASSERT_EQ(warpaes_crypt(engine.get(), &message, nullptr), WARPAES_OK) << warpaes_last_error();
        if (round == 0) first = taken();
    }
    EXPECT_EQ(taken(), first);
    warpaes_key_destroy(key);
    warpaes_free(engine.get(), data);
}

// Memory that a running message uses is not given to a message of another thread.
TEST_F(KeptMemory, MessagesOfSeveralThreadsHaveTheirOwn) {
    const AbiEngine engine = engine_with_gpu("cuda");
    constexpr std::uint64_t bytes = 5000;
    const std::array<std::uint8_t, 16> key_bytes{1};
    warpaes_key* key = nullptr;
    ASSERT_EQ(warpaes_key_create(key_bytes.data(), key_bytes.size(), &key), WARPAES_OK);
    const auto tag_by = [&](warpaes_engine* of, void* data, std::uint8_t number) {
        std::array<std::uint8_t, 12> iv{number};
        std::array<std::uint8_t, 16> tag{};
        const warpaes_message message = gcm_in_place(key, iv, data, bytes, tag);
        EXPECT_EQ(warpaes_crypt(of, &message, nullptr), WARPAES_OK);
        return tag;
    };
    std::vector<std::thread> threads;
    for (std::uint8_t first = 0; first < 4; ++first) {
        threads.emplace_back([&, first] {
            void* data = nullptr;
            ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_DEVICE, 0, bytes, &data), WARPAES_OK);
            for (std::uint8_t i = 0; i < 8; ++i) {
                const std::vector<std::uint8_t> zeros(bytes);
                ASSERT_EQ(warpaes_copy(engine.get(), data, zeros.data(), bytes), WARPAES_OK);
                const auto number = static_cast<std::uint8_t>(8 * first + i);
                std::vector<std::uint8_t> host(bytes);
                EXPECT_EQ(tag_by(engine.get(), data, number), tag_by(engine.get(), host.data(), number)) << int{number};
            }
            warpaes_free(engine.get(), data);
        });
    }
    for (std::thread& thread : threads) thread.join();
    warpaes_key_destroy(key);
}

// If a GPU must not overwrite its input, because the work may be repeated, the output first goes to staging memory,
// which must not contain it when the worker is idle.
TEST_F(KeptMemory, AWorkerWithNothingToDoHasNothingInItsStaging) {
    const AbiEngine engine = engine_with_gpu("auto");
    const BatchCase cases(
        std::vector<GroupSpec>{
            {.mode = Mode::ctr, .direction = Direction::decrypt, .count = 8, .length = 640, .in_place = true}},
        18);
    const BatchCase::Blocks texts = cases.blocks_of_texts();
    AbiEntries entries(cases);
    EXPECT_EQ(complaints_of_entries(engine.get(), cases, entries), "");
    EXPECT_GT(simt::calls("cudaLaunchKernelEx"), 0U) << "not on the GPU";
    const auto left = [&] {
        std::size_t found = 0;
        simt::look_at_memory([&](cudaMemoryType, std::span<const std::uint8_t> memory) {
            for (const Block& block : texts) {
                found += std::search(memory.begin(), memory.end(), block.begin(), block.end()) != memory.end();
            }
        });
        return found;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (left() != 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(left(), 0U) << "of " << texts.size();
}

}  // namespace
}  // namespace warpaes::test
