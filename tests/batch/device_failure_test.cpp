// Tests batches while each CUDA call fails in turn. If the engine chose the GPU, another GPU or the CPU repeats the
// work. If the caller chose the GPU, the entries report the failure.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "../gpu_first.hpp"
#include "abi_batch.hpp"
#include "capi/handles.hpp"
#include "device_memory.hpp"
#include "engine/engine.hpp"
#include "evp_oracle.hpp"
#include "failing_new.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

constexpr const char* functions[] = {"cudaEventCreateWithFlags",
                                     "cudaEventRecord",
                                     "cudaEventSynchronize",
                                     "cudaFuncSetAttribute",
                                     "cudaHostAlloc",
                                     "cudaLaunchKernelEx",
                                     "cudaMalloc",
                                     "cudaMallocFromPoolAsync",
                                     "cudaMemcpyAsync",
                                     "cudaMemcpy2DAsync",
                                     "cudaMemsetAsync",
                                     "cudaSetDevice",
                                     "cudaStreamCreateWithFlags",
                                     "cudaStreamSynchronize",
                                     "cudaStreamWaitEvent"};

AbiEngine engine_with_gpu(bool forced) {
    const EngineOptions options{.backend = forced ? "cuda" : "auto", .device = -1, .threads = 2, .costs = gpu_first()};
    return AbiEngine(new warpaes_engine(options));
}

class BatchDeviceFailure : public testing::TestWithParam<bool> {
protected:
    void SetUp() override { simt::reset(); }
    void TearDown() override { simt::reset(); }

    struct Ran {
        std::set<warpaes_status> statuses;
        std::string complaints;
        std::uint32_t notes = 0;
    };
    /// Creates an engine and runs a batch of every mode. Some messages are in place, and some are not authentic.
    static Ran run() {
        const AbiEngine engine = engine_with_gpu(GetParam());
        std::vector<GroupSpec> specs;
        for (const Mode mode : {Mode::ctr, Mode::cbc, Mode::gcm, Mode::ccm}) {
            for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
                specs.push_back({.mode = mode,
                                 .direction = direction,
                                 .count = 6,
                                 .length = 64,
                                 .iv_length = mode == Mode::gcm || mode == Mode::ccm ? 12U : 16U,
                                 .in_place = direction == Direction::decrypt,
                                 .wrong_tags = 30});
            }
        }
        BatchCase cases(specs, 11);
        AbiEntries entries(cases);
        warpaes_batch* handle = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), specs.size(), &handle),
                  WARPAES_OK);
        const AbiBatchHandle batch(handle);
        EXPECT_NE(warpaes_batch_wait(handle, 60000), WARPAES_ERROR_TIMEOUT);
        Ran ran;
        const auto results = results_of(handle, specs.size());
        for (const auto& r : results) {
            if (r.status != WARPAES_OK && r.status != WARPAES_ERROR_AUTHENTICATION) ran.statuses.insert(r.status);
        }
        EXPECT_EQ(complaints_of_statuses(entries.entries(), results), "");
        warpaes_batch_result result = {};
        result.struct_size = sizeof result;
        EXPECT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        ran.notes = result.notes;
        if (ran.statuses.empty()) ran.complaints = entries.settle(handle) + "|";
        if (ran.statuses.empty()) ran.complaints += cases.complaints();
        return ran;
    }
};

TEST_P(BatchDeviceFailure, EveryCallAtEveryPosition) {
    const Ran clean = run();
    ASSERT_EQ(clean.complaints, "|");
    ASSERT_TRUE(clean.statuses.empty());
    ASSERT_EQ(clean.notes, 0U);
    ASSERT_GT(simt::calls("cudaLaunchKernelEx"), 0U) << "not on the GPU";
    std::vector<std::pair<const char*, unsigned>> counts;
    for (const char* function : functions) counts.emplace_back(function, static_cast<unsigned>(simt::calls(function)));
    unsigned noted = 0, refused = 0;
    for (const auto& [function, n] : counts) {
        const unsigned step = std::max(1U, n / 5);
        for (unsigned nth = 1; nth <= n; nth += step) {
            for (const simt::Failure& failure : simt::failures) {
                SCOPED_TRACE(std::string(function) + " " + std::to_string(nth) + " " + cudaGetErrorName(failure.error));
                simt::reset();
                simt::fail_call(function, static_cast<int>(nth), failure.error, failure.times);
                const Ran ran = run();
                simt::reset();
                noted += (ran.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
                refused += !ran.statuses.empty();
                if (ran.statuses.empty()) {
                    EXPECT_EQ(ran.complaints, "|");
                } else {
                    EXPECT_TRUE(GetParam()) << "the work was not repeated";
                    for (const warpaes_status status : ran.statuses) {
                        EXPECT_TRUE(status == WARPAES_ERROR_DEVICE || status == WARPAES_ERROR_DEVICE_MEMORY) << status;
                    }
                }
            }
        }
    }
    EXPECT_GT(GetParam() ? refused : noted, 15U) << "failures were not detected";
}

/// Returns entries with one authenticated message each, some of them in place.
std::vector<GroupSpec> single_messages(std::size_t count) {
    std::vector<GroupSpec> specs;
    for (std::size_t i = 0; i < count; ++i) {
        specs.push_back({.mode = i % 2 == 0 ? Mode::gcm : Mode::ccm,
                         .direction = Direction::decrypt,
                         .length = 64,
                         .iv_length = 12,
                         .in_place = i % 4 < 2});
    }
    return specs;
}

// After a decryption that fails midway, the output shows no plaintext, even if some of it was authentic.
TEST_P(BatchDeviceFailure, OutputsOfWhatFailedShowNothing) {
    constexpr const char* ends[] = {"cudaEventRecord", "cudaEventSynchronize", "cudaLaunchKernelEx", "cudaMemcpyAsync"};
    unsigned failed = 0;
    for (const bool on_device : {false, true}) {
        for (const char* const function : ends) {
            for (int nth = 1;; ++nth) {
                simt::Machine machine = simt::Machine::from_environment();
                machine.guarded = on_device;  // a host that wipes device memory directly would crash
                simt::reset(machine);
                const AbiEngine engine = engine_with_gpu(GetParam());
                DeviceMemory memory(engine, 0, on_device ? WARPAES_MEMORY_DEVICE : WARPAES_MEMORY_PAGE_LOCKED);
                // An entry with several messages could be partly finished.
                const std::vector<GroupSpec> specs = single_messages(8);
                BatchMemory& rest = on_device ? static_cast<BatchMemory&>(memory) : guarded_memory();
                const BatchCase cases(specs, 12, memory, rest);
                AbiEntries entries(cases);
                simt::reset();
                simt::fail_call(function, nth, cudaErrorUnknown);
                warpaes_batch* handle = nullptr;
                ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), specs.size(), &handle),
                          WARPAES_OK);
                const AbiBatchHandle batch(handle);
                EXPECT_NE(warpaes_batch_wait(handle, 60000), WARPAES_ERROR_TIMEOUT);
                const bool came_so_far = simt::calls(function) >= static_cast<std::uint64_t>(nth);
                simt::reset();
                SCOPED_TRACE(std::string(function) + " " + std::to_string(nth) + (on_device ? " on the device" : ""));
                const auto results = results_of(handle, specs.size());
                for (std::size_t i = 0; i < specs.size(); ++i) {
                    if (results[i].status == WARPAES_OK) continue;
                    ++failed;
                    EXPECT_FALSE(cases.shows_plaintext(i)) << specs[i];
                }
                if (!came_so_far) break;
            }
        }
    }
    EXPECT_GT(failed, 20U) << "no call failed, so this tests nothing";
}

// Plaintext is not visible between a GPU's failure and the repetition of its work either. The batch may be cancelled
// during this time.
TEST(BatchOnALostGpu, ShowsNothingOfWhatItHasBegun) {
    unsigned failed = 0;
    for (const char* const function : {"cudaEventRecord", "cudaEventSynchronize", "cudaMemcpyAsync"}) {
        for (int nth = 1;; ++nth) {
            SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
            simt::reset();
            const AbiEngine engine = engine_with_gpu(false);
            DeviceMemory memory(engine, 0, WARPAES_MEMORY_PAGE_LOCKED);
            const std::vector<GroupSpec> specs = single_messages(8);
            const BatchCase cases(specs, 13, memory);
            AbiEntries entries(cases);
            KeyTable keys;
            Batch batch(engine->impl, keys,
                        {.entries = entries.entries().data(),
                         .count = specs.size(),
                         .handles = {.alive = capi::is_alive,
                                     .key = [](const warpaes_key* key) -> const ExpandedKey& { return key->impl; }},
                         .finished = {}});
            BatchScratch scratch;
            ASSERT_FALSE(batch.prepare());
            simt::reset();
            simt::fail_call(function, nth, cudaErrorUnknown);
            (void)batch.work_on_gpu(0, gpu_worker(engine->impl.options().threads, 0, 0), scratch);
            const bool came_so_far = simt::calls(function) >= static_cast<std::uint64_t>(nth);
            simt::reset();
            for (std::size_t i = 0; batch.returned() && i < specs.size(); ++i) {
                EXPECT_FALSE(cases.shows_plaintext(i)) << specs[i];
            }
            failed += batch.returned() ? 1 : 0;
            batch.cancel();
            while (batch.work_on_cpu(0, scratch) == Batch::Step::worked) {
            }
            batch.finish();
            if (!came_so_far) break;
        }
    }
    EXPECT_GT(failed, 2U) << "no call failed, so this tests nothing";
}

// If a CUDA call fails while a batch is being enqueued on the caller's stream, enqueue() reports the failure. The next
// batch reuses the memory of the failed batch and succeeds.
TEST(EnqueuedBatch, ThatFailsIsToldAndTheNextIsRight) {
    std::vector<GroupSpec> specs;
    for (const Mode mode : {Mode::ctr, Mode::cbc, Mode::gcm}) {
        specs.push_back({.mode = mode, .count = 6, .length = 64, .iv_length = mode == Mode::gcm ? 12U : 16U});
    }
    specs.push_back({.mode = Mode::ecb, .count = 3, .length = 32, .raw_keys = true});
    unsigned failed = 0;
    for (const char* const function :
         {"cudaEventRecord", "cudaLaunchHostFunc", "cudaLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync",
          "cudaStreamGetCaptureInfo", "cudaStreamWaitEvent", "cudaThreadExchangeStreamCaptureMode"}) {
        for (int nth = 1;; ++nth) {
            SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
            simt::reset();
            const AbiEngine engine = engine_with_gpu(true);
            DeviceMemory memory(engine, 0);
            const BatchCase cases(specs, 15, memory, memory);
            AbiEntries entries(cases);
            const auto enqueue = [&] {
                return warpaes_batch_enqueue(engine.get(), nullptr, entries.entries().data(), specs.size(), nullptr);
            };
            simt::fail_call(function, nth, cudaErrorUnknown);
            const warpaes_status status = enqueue();
            const bool came_so_far = simt::calls(function) >= static_cast<std::uint64_t>(nth);
            simt::reset();
            if (status != WARPAES_OK) {
                EXPECT_EQ(status, WARPAES_ERROR_DEVICE);
                ++failed;
                EXPECT_EQ(enqueue(), WARPAES_OK) << warpaes_last_error();
            }
            EXPECT_EQ(cases.complaints(), "");
            if (!came_so_far) break;
        }
    }
    EXPECT_GT(failed, 10U) << "no call failed, so this tests nothing";
}

warpaes_batch_entry one_in_place(warpaes_mode mode, std::uint8_t* data, std::size_t bytes,
                                 const std::vector<std::uint8_t>& iv, const AbiKey& key) {
    warpaes_batch_entry entry = {};
    entry.mode = mode;
    entry.direction = WARPAES_ENCRYPT;
    entry.count = 1;
    entry.length = bytes;
    entry.input.at.pointer = entry.output.at.pointer = data;
    entry.iv.at.pointer = const_cast<std::uint8_t*>(iv.data());
    entry.iv_len = static_cast<std::uint32_t>(iv.size());
    entry.key = key.get();
    return entry;
}

// The caller may reuse host memory as soon as the call returns, no matter when the stream executes the work.
TEST(EnqueuedBatch, TakesACopyOfIvsInHostMemory) {
    simt::Machine machine = simt::Machine::from_environment();
    machine.late = 1;
    simt::reset(machine);
    {
        const AbiEngine engine = engine_with_gpu(true);
        DeviceMemory memory(engine, 0);
        const std::vector<std::uint8_t> key_bytes(16, 1), text(64, 0x77);
        const AbiKey key = make_key(key_bytes);
        std::uint8_t* const there = memory.allocate(text.size());
        memory.write(there, text);
        std::vector<std::uint8_t> iv(16, 3), got(text.size());
        const warpaes_batch_entry entry = one_in_place(WARPAES_CTR, there, text.size(), iv, key);
        ASSERT_EQ(warpaes_batch_enqueue(engine.get(), nullptr, &entry, 1, nullptr), WARPAES_OK) << warpaes_last_error();
        std::fill(iv.begin(), iv.end(), std::uint8_t{0xee});
        memory.read(got, there);
        EXPECT_EQ(got, *oracle::evp("CTR", true, key_bytes, std::vector<std::uint8_t>(16, 3), text));
        memory.release(there, text.size());
    }
    simt::reset();
}

/// The list of the batch's devices is allocated after the checks and before the first task. Allocations that have the
/// size of this list fail in turn.
TEST(BatchOnAGpu, IsRefusedIfThereIsNoMemoryForItsWorkers) {
    const std::vector specs(3, GroupSpec{.mode = Mode::ctr, .length = 64});
    unsigned refused = 0;
    for (int nth = 0;; ++nth) {
        SCOPED_TRACE(nth);
        ASSERT_LT(nth, 100);
        const EngineOptions options{.backend = "cuda", .device = 0, .threads = 1};
        const AbiEngine engine(new warpaes_engine(options));
        const BatchCase cases(specs, 5);
        AbiEntries entries(cases);
        fail_new(nth, 1, sizeof(int));
        warpaes_batch* handle = nullptr;
        const warpaes_status status =
            warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), specs.size(), &handle);
        const AbiBatchHandle batch(handle);
        if (status == WARPAES_OK) (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
        if (!end_failing_new()) break;
        if (status != WARPAES_OK) continue;
        for (const auto& result : results_of(handle, specs.size())) {
            if (result.status == WARPAES_OK) continue;
            EXPECT_EQ(result.status, WARPAES_ERROR_OUT_OF_MEMORY);
            ++refused;
        }
        check_abi_batch(engine, specs, 6);
    }
    EXPECT_GE(refused, specs.size());
}

// A message of many chunks continues without the GPU. The batch reports the failure.
TEST(BatchOnAGpu, SaysThatItFailedInTheMidstOfALongMessage) {
    simt::reset();
    const AbiEngine engine = engine_with_gpu(false);
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    std::vector<std::uint8_t> data((std::size_t{16} << 20) + 16), iv(16);
    const warpaes_batch_entry entry = one_in_place(WARPAES_CTR, data.data(), data.size(), iv, key);
    warpaes_batch* handle = nullptr;
    simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorUnknown, 1 << 20);
    ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, &entry, 1, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, 60000), WARPAES_OK) << warpaes_last_error();
    EXPECT_GT(simt::calls("cudaLaunchKernelEx"), 0U) << "not on the GPU";
    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
    ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
    EXPECT_EQ(result.notes, std::uint32_t{WARPAES_NOTE_DEVICE_FAILED});
    simt::reset();
}

// A message that exceeds a GPU's maximum task size still becomes one task.
TEST(BatchOnAGpu, TakesAMessageThatIsLargerThanATask) {
    simt::reset();
    const AbiEngine engine = engine_with_gpu(true);
    const AbiKey key = make_key(std::vector<std::uint8_t>(16, 1));
    std::vector<std::uint8_t> data((std::size_t{16} << 20) + 16), iv(16);
    const warpaes_batch_entry entry = one_in_place(WARPAES_CBC, data.data(), data.size(), iv, key);
    warpaes_batch* handle = nullptr;
    // Every copy fails, and the batch must still end.
    simt::fail_call("cudaMemcpyAsync", 1, cudaErrorUnknown, 1 << 20);
    ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, &entry, 1, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, 60000), WARPAES_ERROR_DEVICE);
    simt::reset();
}

// Tests a message in place for which the lane's staging memory is too small, on a GPU that the engine chose.
TEST(BatchOnAGpu, StagesAMessageThatIsLargerThanATask) {
    simt::reset();
    const AbiEngine engine = engine_with_gpu(false);
    EXPECT_EQ(complaints_of_abi_batch(engine, std::vector<GroupSpec>{{.length = 5 << 19, .in_place = true}}, 14), "");
    EXPECT_GT(simt::calls("cudaLaunchKernelEx"), 0U) << "not on the GPU";
    simt::reset();
}

// The engine has one set of threads for the CPU and for each GPU. A second batch does not start more threads.
TEST(BatchOnAGpu, HasAsManyWorkersAsThePlanSays) {
    const auto threads = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); };
    simt::reset();
    const auto before = threads();
    const AbiEngine engine = engine_with_gpu(true);
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(complaints_of_abi_batch(engine, std::vector<GroupSpec>{{.count = 3, .length = 64}}, 16), "");
        EXPECT_EQ(threads() - before, 2 + simt::machine().devices * static_cast<int>(Crew{}.gpu_lanes));
    }
}

INSTANTIATE_TEST_SUITE_P(Gpu, BatchDeviceFailure, testing::Bool(),
                         [](const auto& info) { return info.param ? "asked_for" : "chosen"; });

}  // namespace
}  // namespace warpaes::test
