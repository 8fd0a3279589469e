// Tests that GCM leaves no secrets on the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "cuda/device_calls.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/architectures.hpp"
#include "cuda/tuning/shapes.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

/// Runs GCM on device memory. Returns the contents that the scratch memory had when it was freed. The scratch memory
/// begins with the kernels' parameters.
std::vector<std::uint8_t> scratch_of(Direction direction, std::size_t count, std::size_t segment, bool tag) {
    const ExpandedKey key(std::vector<std::uint8_t>(16, 7));
    CudaBackend& backend = cuda_backend();
    auto* const text = static_cast<std::uint8_t*>(backend.device_alloc(0, count * segment));
    auto* const results = static_cast<Block*>(backend.device_alloc(0, count * sizeof(Block)));
    std::vector<Block> j0s(count);
    for (Block& j0 : j0s) std::fill(j0.begin(), j0.end(), std::uint8_t{0x11});

    std::vector<std::uint8_t> freed;
    simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> bytes) {
        if (type == cudaMemoryTypeDevice) freed.assign(bytes.begin(), bytes.end());
    });
    cuda::enqueue(GcmRun{.direction = direction,
                         .key = &key,
                         .input = text,
                         .output = text,
                         .count = count,
                         .segment_bytes = segment,
                         .last_bytes = segment,
                         .input_stride = segment,
                         .output_stride = segment,
                         .j0 = j0s.data(),
                         .result = tag ? GcmRun::Result::tag : GcmRun::Result::digest,
                         .results = results},
                  cuda::limits_of(backend.info().front().multiprocessors, 227 * 1024, 90), nullptr);
    backend.synchronize(0, nullptr);
    simt::on_free({});
    backend.device_free(text);
    backend.device_free(results);
    return freed;
}

TEST(GcmScratch, KeyStreamAndDigestsAreOverwritten) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const bool tag : {false, true}) {
            for (const std::size_t segment : {std::size_t{100}, std::size_t{20000}, std::size_t{600000}}) {
                const std::size_t count = segment > 100000 ? 1 : 3, counters = count > 1 ? count * sizeof(Block) : 0;
                std::vector<std::uint8_t> left = scratch_of(direction, count, segment, tag);
                if (segment > 100) {
                    EXPECT_GT(left.size(), counters) << "no scratch memory was freed, so this tests nothing";
                }
                ASSERT_GE(left.size(), counters);
                left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(counters));
                EXPECT_EQ(std::count(left.begin(), left.end(), 0), static_cast<std::ptrdiff_t>(left.size()))
                    << count << " segments of " << segment;
            }
        }
    }
}

/// For all kernels, a synchronous call's result is overwritten, and so are the shares that the host combined.
TEST(GcmScratch, WhatTheHostReadsIsOverwritten) {
    const ExpandedKey key(std::vector<std::uint8_t>(16, 7));
    CudaBackend& backend = cuda_backend();
    const Block j0{0x11};
    constexpr std::size_t longest = 200000;
    auto* const text = static_cast<std::uint8_t*>(backend.device_alloc(0, longest + 1));
    cuda::DeviceLimits limits = cuda::limits_of(backend.info().front().multiprocessors, 227 * 1024, 90);
    for (const bool one_launch : {true, false}) {
        if (!one_launch) limits.table.one_launch_share = 0;  // a long message at an odd address needs two passes
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{20000}, longest}) {
            SCOPED_TRACE(std::to_string(bytes) + (one_launch ? "" : " bytes at an odd address"));
            cuda::DeviceCalls calls;
            Block result{};
            calls.run(GcmRun{.direction = Direction::decrypt,
                             .key = &key,
                             .input = text + (one_launch ? 0 : 1),
                             .output = text + (one_launch ? 0 : 1),
                             .segment_bytes = bytes,
                             .last_bytes = bytes,
                             .j0 = &j0,
                             .result = GcmRun::Result::tag,
                             .results = &result},
                      limits);
            EXPECT_NE(result, Block{});
            std::size_t seen = 0;
            simt::look_at_memory([&](cudaMemoryType type, std::span<const std::uint8_t> left) {
                if (type != cudaMemoryTypeHost) return;
                ++seen;
                EXPECT_EQ(std::count(left.begin(), left.end(), 0), static_cast<std::ptrdiff_t>(left.size()));
            });
            EXPECT_EQ(seen, 1U) << "only the memory of this call";
        }
    }
    backend.device_free(text);
}

/// Occupies all free memory of the device.
class AllMemory {
public:
    AllMemory() {
        for (std::size_t bytes = std::size_t{1} << 30; bytes != 0; bytes /= 2) {
            void* memory = nullptr;
            while (cudaMalloc(&memory, bytes) == cudaSuccess) taken_.push_back(memory);
        }
        (void)cudaGetLastError();
    }
    AllMemory(const AllMemory&) = delete;
    AllMemory& operator=(const AllMemory&) = delete;
    ~AllMemory() {
        for (void* const memory : taken_) EXPECT_EQ(cudaFree(memory), cudaSuccess);
    }

private:
    std::vector<void*> taken_;
};

/// Repeated encryption and decryption of a GCM message on a stream must not need additional memory, even if several
/// threads encrypt messages concurrently.
TEST(GcmScratch, IsThereWhenAllMemoryIsTaken) {
    simt::Machine machine = simt::Machine::from_environment();
    machine.memory = std::size_t{100} << 20;
    simt::reset(machine);
    const ExpandedKey key(std::vector<std::uint8_t>(16, 7));
    CudaBackend& backend = cuda_backend();
    constexpr std::size_t longest = 200001, threads = 4;
    std::vector<std::uint8_t*> texts;
    std::vector<Block*> tags;
    for (std::size_t i = 0; i < threads; ++i) {
        texts.push_back(static_cast<std::uint8_t*>(backend.device_alloc(0, longest)));
        tags.push_back(static_cast<Block*>(backend.device_alloc(0, sizeof(Block))));
    }
    const std::vector<std::uint8_t> iv(12, 1);
    const auto message = [&](Direction direction, std::uint8_t* text, std::size_t length, std::uint8_t* tag) {
        MessageGroup g{};
        g.mode = Mode::gcm;
        g.direction = direction;
        g.length = length;
        g.input = Elements::of(text);
        g.output = {text, 0};
        g.iv = Elements::of(iv.data());
        g.iv_length = 12;
        g.tag = {tag, 0};
        g.tag_length = block_bytes;
        g.key = &key;
        return g;
    };
    std::uint8_t failed = 0;
    const auto there_and_back = [&](std::uint8_t* text, std::size_t length) {
        Block tag{};
        backend.run(message(Direction::encrypt, text, length, tag.data()), 0, {});
        MessageGroup back = message(Direction::decrypt, text, length, tag.data());
        back.failed = &failed;
        backend.run(back, 0, {});
    };
    there_and_back(texts[0], 16);  // the first call allocates the memory
    const AllMemory taken;
    void* more = nullptr;
    ASSERT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
    (void)cudaGetLastError();
    for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{20000}, longest - 1}) {
        for (const std::size_t shift : {0, 1}) {
            SCOPED_TRACE(std::to_string(length) + " bytes, shifted by " + std::to_string(shift));
            EXPECT_NO_THROW(there_and_back(texts[0] + shift, length));
            EXPECT_NO_THROW(backend.run(
                message(Direction::encrypt, texts[0] + shift, length, reinterpret_cast<std::uint8_t*>(tags[0])), 0,
                CallerStream{}));
            backend.synchronize(0, nullptr);
            // The message can then be decrypted on the stream.
            MessageGroup back =
                message(Direction::decrypt, texts[0] + shift, length, reinterpret_cast<std::uint8_t*>(tags[0]));
            back.statuses = reinterpret_cast<std::int32_t*>(tags[1]);
            EXPECT_NO_THROW(backend.enqueue(std::vector{back}, 0, nullptr));
            std::int32_t status = -1;
            backend.copy(&status, tags[1], sizeof status, 0, nullptr);
            EXPECT_EQ(status, 0);
        }
    }
    std::vector<std::thread> all;
    for (std::uint8_t* const text : texts) {
        all.emplace_back([&, text] {
            for (int time = 0; time < 5; ++time) EXPECT_NO_THROW(there_and_back(text, 20000));
        });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(failed, 0);
    for (std::size_t i = 0; i < threads; ++i) {
        backend.device_free(texts[i]);
        backend.device_free(tags[i]);
    }
    simt::reset();
}

}  // namespace
}  // namespace warpaes
