// Tests the distribution of a batch's work, and the copies that it needs, on a simulated GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "abi_batch.hpp"
#include "capi/handles.hpp"
#include "device_memory.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

/// Returns a cost model whose costs depend only on the kind of backend and the key length: `cost_of(whether it is a
/// GPU, bits)`.
std::shared_ptr<const CostModel> costs_of(const std::function<Cost(bool, unsigned)>& cost_of) {
    auto model = std::make_shared<CostModel>();
    for (const Backend* backend : all_backends()) {
        for (const BackendInfo& info : backend->info()) {
            CostTable& table = model->tables[CostModel::table_name(info)];
            for (const unsigned key_bits : {128U, 256U}) {
                const Cost cost = cost_of(info.name == "cuda", key_bits);
                for (std::size_t c = 0; c < work_classes; ++c) {
                    for (std::size_t w = 0; w < ways; ++w) {
                        table.set(static_cast<WorkClass>(c), static_cast<Way>(w), key_bits, cost);
                    }
                }
            }
        }
    }
    return model;
}

AbiEngine engine_with(std::shared_ptr<const CostModel> costs) {
    return AbiEngine(new warpaes_engine(EngineOptions{.backend = "auto", .threads = 2, .costs = std::move(costs)}));
}

class BatchPlacing : public testing::Test {
protected:
    void SetUp() override { simt::reset(); }

    /// Returns the number of messages that ran on the GPU.
    static std::uint64_t run(const AbiEngine& engine, std::span<const warpaes_batch_entry> entries) {
        warpaes_batch* handle = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.data(), entries.size(), &handle), WARPAES_OK);
        const AbiBatchHandle batch(handle);
        EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
        warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
        EXPECT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        return result.messages_on_gpu;
    }
};

// Messages run on the backend that is faster for the length of their keys.
TEST_F(BatchPlacing, ByTheLengthOfTheKeys) {
    for (const unsigned gpu_bits : {128U, 256U}) {
        const AbiEngine engine = engine_with(costs_of([&](bool gpu, unsigned key_bits) {
            Cost cost;
            cost.byte.fill(gpu == (key_bits == gpu_bits) ? 1e-9 : 1);
            return cost;
        }));
        for (const std::size_t key_bytes : {16U, 32U}) {
            const BatchCase cases(
                std::vector<GroupSpec>(3, {.mode = Mode::ctr, .key_bytes = key_bytes, .count = 5, .length = 4096}), 19);
            AbiEntries entries(cases);
            const std::uint64_t expected = 8 * key_bytes == gpu_bits ? 15 : 0;
            EXPECT_EQ(run(engine, entries.entries()), expected) << 8 * key_bytes << ", " << gpu_bits << " on the GPU";
            EXPECT_EQ(cases.complaints(), "");
        }
    }
}

// If a message costs much on the CPU and little on the GPU, the GPU receives many messages, whatever the cost per byte
// is.
TEST_F(BatchPlacing, ByTheNumberOfMessages) {
    const AbiEngine engine = engine_with(costs_of([](bool gpu, unsigned) {
        Cost cost{.fixed = gpu ? 1.0 : 0, .message = gpu ? 0 : 1.0};
        cost.byte.fill(1e-9);
        return cost;
    }));
    const BatchCase cases(std::vector<GroupSpec>{{.mode = Mode::ctr, .count = 15, .length = 4096}}, 19);
    AbiEntries entries(cases);
    EXPECT_EQ(run(engine, entries.entries()), 15U);
    EXPECT_EQ(cases.complaints(), "");
}

// A GPU does not access pageable memory directly, even if the rest of the entry is in the GPU's memory.
TEST_F(BatchPlacing, WhatLiesInHostMemoryIsCopied) {
    const AbiEngine engine = make_engine("cuda");
    DeviceMemory memory(engine, 0);
    constexpr std::size_t bytes = 4096;
    std::uint8_t *const there = memory.allocate(2 * bytes), *const also_there = there + bytes;
    std::vector<std::uint8_t> here(bytes);
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    const auto copies = [&](std::uint8_t* input, std::uint8_t* output) {
        std::vector<std::uint8_t> iv(16);
        warpaes_batch_entry e{};
        e.mode = WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = 1;
        e.length = bytes;
        e.key = key.get();
        e.input.at.pointer = input;
        e.output.at.pointer = output;
        e.iv.at.pointer = iv.data();
        e.iv_len = 16;
        simt::reset();
        EXPECT_EQ(run(engine, {&e, 1}), 1U);
        return simt::calls("cudaMemcpyAsync");
    };
    const std::uint64_t of_the_iv = copies(there, also_there);
    EXPECT_EQ(copies(there, there), of_the_iv);
    EXPECT_EQ(copies(here.data(), there), of_the_iv + 1);
    EXPECT_EQ(copies(there, here.data()), of_the_iv + 1);
    memory.release(there, 2 * bytes);
}

}  // namespace
}  // namespace warpaes::test
