// Tests single GCM messages in one launch, on machines of different sizes: the weights of thread blocks, warps and
// rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "aes/ghash.hpp"
#include "backend/cuda_backend.hpp"
#include "cuda/device_calls.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/architectures.hpp"
#include "cuda/tuning/gcm.hpp"
#include "cuda/tuning/shapes.hpp"
#include "evp_oracle.hpp"
#include "launch_text.hpp"

namespace warpaes {
namespace {

using cuda::DeviceLimits;
using cuda::GcmLong;
using cuda::GcmMedium;
using cuda::GcmShort;
using oracle::Bytes;

/// Computes J0 as in SP 800-38D, 7.1, step 2, for IVs of 12 or 16 bytes.
Block j0_of(const ExpandedKey& key, const Bytes& iv) {
    Block j0{};
    std::copy(iv.begin(), iv.end(), j0.begin());
    if (iv.size() == j0.size()) {
        const FieldElement h = key.hash_key().powers[0];
        return store_element(multiply(multiply(load_element(j0), h) ^ length_block(0, iv.size()), h));
    }
    j0[15] = 1;
    return j0;
}

/// Returns an IV whose J0 ends with this counter.
Bytes iv_for(const Bytes& key_bytes, std::uint32_t counter) {
    const ExpandedKey key(key_bytes);
    const FieldElement by_h = inverse(key.hash_key().powers[0]);
    Block j0{};
    for (unsigned i = 0; i < 16; ++i) j0[i] = static_cast<std::uint8_t>(i < 12 ? 17 * i : counter >> (8 * (15 - i)));
    const Block iv = store_element(multiply(multiply(load_element(j0), by_h) ^ length_block(0, j0.size()), by_h));
    return {iv.begin(), iv.end()};
}

/// Selects whether the device or the host adds up the thread blocks' shares of the tag.
enum class Adds { device, host };

/// Returns the sum of the shares that a launch stored.
Block sum_of(std::span<const unsigned long long> words, unsigned turn) {
    std::array<std::uint32_t, cuda::HostShares::words_each> sum{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(words[i] >> 32, turn) << "word " << i;
        sum[i % sum.size()] ^= static_cast<std::uint32_t>(words[i]);
    }
    return std::bit_cast<Block>(sum);
}

/// Returns the output and the tag of a call in place, `offset` bytes after an aligned address.
Bytes sealed_by(const DeviceLimits& device, const Bytes& key_bytes, const Bytes& iv, const Bytes& text,
                Direction direction, Adds adds = Adds::device, std::size_t offset = 0) {
    const ExpandedKey key(key_bytes);
    CudaBackend& backend = cuda_backend();
    auto* const memory = static_cast<std::uint8_t*>(backend.device_alloc(0, offset + text.size() + 1));
    std::uint8_t* const data = memory + offset;
    auto* const result = static_cast<Block*>(backend.device_alloc(0, sizeof(Block)));
    backend.copy(data, text.data(), text.size(), 0, nullptr);
    const Block j0 = j0_of(key, iv);
    const GcmRun run{.direction = direction,
                     .key = &key,
                     .input = data,
                     .output = data,
                     .segment_bytes = text.size(),
                     .last_bytes = text.size(),
                     .input_stride = text.size(),
                     .output_stride = text.size(),
                     .j0 = &j0,
                     .result = GcmRun::Result::tag,
                     .results = result};
    Bytes sealed(text.size() + sizeof(Block));
    if (adds == Adds::host) {
        constexpr unsigned turn = 0x89abcdef;
        constexpr std::size_t most_words = cuda::HostShares::words_each * 256;
        cuda::GcmMemory own;
        auto* const words =
            reinterpret_cast<unsigned long long*>(own.results.reserve(most_words * sizeof(unsigned long long)));
        std::fill_n(words, most_words, 0);
        const cuda::GcmScratch scratch{own.scratch, own.sum_on(nullptr), {words, turn}};
        const unsigned thread_blocks = cuda::enqueue(run, device, nullptr, &scratch);
        EXPECT_GE(thread_blocks, 1U);
        EXPECT_LE(thread_blocks, 256U);
        backend.synchronize(0, nullptr);
        const Block tag = sum_of(std::span(words, cuda::HostShares::words_each * thread_blocks), turn);
        std::copy(tag.begin(), tag.end(), sealed.end() - sizeof(Block));
    } else {
        EXPECT_EQ(cuda::enqueue(run, device, nullptr), 0U);
        backend.copy(sealed.data() + text.size(), result, sizeof(Block), 0, nullptr);
    }
    backend.copy(sealed.data(), data, text.size(), 0, nullptr);
    backend.device_free(memory);
    backend.device_free(result);
    return sealed;
}

void both_ways(const DeviceLimits& device, const Bytes& key, const Bytes& iv, const Bytes& text,
               Adds adds = Adds::device) {
    const Bytes expected = oracle::evp_gcm(key, iv, text, {});
    ASSERT_EQ(sealed_by(device, key, iv, text, Direction::encrypt, adds), expected);
    const Bytes opened = sealed_by(device, key, iv, {expected.begin(), expected.end() - 16}, Direction::decrypt, adds);
    ASSERT_TRUE(std::equal(text.begin(), text.end(), opened.begin()));
    ASSERT_TRUE(std::equal(expected.end() - 16, expected.end(), opened.end() - 16)) << "tag";
}

class GcmLaunch : public testing::Test {
protected:
    void SetUp() override {
        if (!cuda_backend().usable() || cuda_backend().launches(0).gpu.compute_capability != 90 ||
            cuda_backend().launches(0).gpu.bit_products == BitProducts::none) {
            GTEST_SKIP()
                << "needs launches of code for 9.0; an H100 or H200 runs this test, and every machine simulates it";
        }
    }
};

/// Tests grids of one thread block, of up to 2 * GcmMessage::radix thread blocks, and of more. 300 multiprocessors
/// exceed the maximum number of thread blocks in a grid.
TEST_F(GcmLaunch, SharesOfAShortMessage) {
    const Bytes key(16, 0x5a), iv(12, 0x21);
    constexpr std::size_t least = GcmShort::least_share * block_bytes;
    for (const int multiprocessors : {1, 17, 33, 300}) {
        const DeviceLimits device = cuda::limits_of(multiprocessors, 227 * 1024, 90);
        const std::size_t all = least * cuda::GcmMessage::grid_limit(device);
        for (const std::size_t bytes : {least - 5, all, all - 5, all + 16, 2 * all - least + 1}) {
            if (bytes > 256 * least) continue;  // too slow to simulate
            ASSERT_TRUE(GcmShort::takes(device, (bytes + 15) / 16));
            const Bytes text = text_of(bytes);
            SCOPED_TRACE(std::to_string(bytes) + " bytes, multiprocessors: " + std::to_string(multiprocessors));
            both_ways(device, key, iv, text, Adds::host);
            if (multiprocessors <= 17) both_ways(device, key, iv, text, Adds::device);
        }
    }
}

TEST_F(GcmLaunch, SharesOfAMediumMessage) {
    const Bytes key(16, 0x5a), iv(12, 0x21);
    for (const int multiprocessors : {1, 15, 16, 17, 33, 132}) {
        for (const int capability : {80, 90}) {
            if (capability == 80 && multiprocessors > 17)
                continue;  // the weights are the same, and simulating this is slow
            const DeviceLimits device = cuda::limits_of(multiprocessors, 227 * 1024, capability);
            const std::size_t all = static_cast<std::size_t>(multiprocessors) * 300 * block_bytes;
            for (const std::size_t bytes : {all, all - 5, all - std::size_t{40} * block_bytes}) {
                ASSERT_FALSE(GcmShort::takes(device, (bytes + 15) / 16));
                ASSERT_TRUE(cuda::GcmMediumShape::takes(device, bytes / 16));
                const Bytes text = text_of(bytes);
                SCOPED_TRACE(std::to_string(bytes) + " bytes, multiprocessors: " + std::to_string(multiprocessors));
                both_ways(device, key, iv, text, bytes == all ? Adds::host : Adds::device);
            }
        }
    }
}

/// Tests one thread block with as many rows and warps as a share fills, for half a chunk and for a whole chunk. The
/// text is misaligned, because a different kernel processes long aligned texts.
TEST_F(GcmLaunch, RowsOfAShare) {
    const Bytes key(32, 0xa5), iv(12, 0x42);
    const DeviceLimits device = cuda::limits_of(1, 227 * 1024, 90);
    constexpr std::size_t row = GcmMedium::half_row * block_bytes, warp = 8 * row, all = GcmMedium::warps * warp;
    for (const std::size_t bytes : {row - 1, row, row + 16, warp, warp + 1, 4 * warp + 16, all, all + 16, 2 * all}) {
        const Bytes text = text_of(bytes);
        const Bytes sealed = sealed_by(device, key, iv, text, Direction::encrypt, Adds::device, 4);
        ASSERT_EQ(sealed, oracle::evp_gcm(key, iv, text, {})) << bytes;
    }
    ASSERT_FALSE(cuda::GcmMediumShape::takes(device, 2 * all / block_bytes + 1))
        << "a different kernel processes it then";
}

/// J0 may lie in the window before the first block, and the counter after the last block may lie in a separate window.
TEST_F(GcmLaunch, AShortMessageBeginsAndEndsAnywhere) {
    const Bytes key(16, 0x69);
    const DeviceLimits device = cuda::limits_of(2, 227 * 1024, 90);
    constexpr std::size_t window = 4096;
    for (const std::uint32_t counter : {1u, 0u, 0xfeu, 0xffu, 0xfffeu, 0xffffu, 0xffff02u, 0xfffffffeu, 0xffffffffu}) {
        const Bytes iv = iv_for(key, counter);
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{31}, window - 32, window - 31, window - 16,
              window - 1, window, window + 1, 2 * window + 5, 3 * window - 32, 3 * window - 31, 3 * window - 16,
              3 * window - 1, 3 * window}) {
            const Bytes text = text_of(bytes);
            SCOPED_TRACE(std::to_string(bytes) + " bytes, counter " + std::to_string(counter));
            both_ways(device, key, iv, text);
        }
    }
}

/// Returns a machine on which no message counts as medium-length.
DeviceLimits only_long(int multiprocessors) {
    DeviceLimits device = cuda::limits_of(multiprocessors, 227 * 1024, 90);
    device.table.one_launch_share = 0;
    return device;
}

/// Tests messages that begin and end at any position in a window, in a thread block's share, and in a chunk. J0 lies in
/// the preceding window.
TEST_F(GcmLaunch, ALongMessageBeginsAndEndsAnywhere) {
    const Bytes key(16, 0x3c);
    const DeviceLimits device = only_long(1);
    constexpr std::size_t least = GcmLong::stride * block_bytes, chunk = GcmLong::windows * least;
    for (const std::uint32_t counter :
         {1u, 0u, 0xfeu, 0xffu, 0x77fe81u, 0xfffcfeu, 0xffffffu, 0xfffff123u, 0xffffffffu}) {
        const Bytes iv = iv_for(key, counter);
        for (const std::size_t bytes :
             {least, least + 15, chunk - 4096 * 3 + 16, chunk, chunk + 1, chunk + 4096 + 48}) {
            SCOPED_TRACE(std::to_string(bytes) + " bytes, counter " + std::to_string(counter));
            ASSERT_TRUE(GcmLong::takes(device, bytes / block_bytes));
            both_ways(device, key, iv, text_of(bytes));
        }
    }
}

/// Tests the shares of a long message. The first thread block's share is the remainder, which is at least one window.
TEST_F(GcmLaunch, SharesOfALongMessage) {
    for (const std::size_t key_bytes : {24, 32}) {
        const Bytes key(key_bytes, 0x7e), iv(12, 9);
        for (const int multiprocessors : {2, 3, 16, 17, 33}) {
            const DeviceLimits device = only_long(multiprocessors);
            const std::size_t least = static_cast<std::size_t>(multiprocessors) * GcmLong::stride * block_bytes;
            for (const std::size_t bytes : {least, least + 4096, least + 4096 * 5 - 33}) {
                if (key_bytes == 24 && multiprocessors > 3) continue;
                SCOPED_TRACE(std::to_string(bytes) + " bytes, multiprocessors: " + std::to_string(multiprocessors));
                ASSERT_TRUE(GcmLong::takes(device, bytes / block_bytes));
                both_ways(device, key, iv, text_of(bytes));
            }
        }
    }
}

TEST(GcmLong, WhatItDoesNotTake) {
    const std::uint64_t blocks = std::uint64_t{1} << 20;
    EXPECT_TRUE(GcmLong::takes(cuda::limits_of(132, 227 * 1024, 90), blocks));
    EXPECT_TRUE(GcmLong::takes(cuda::limits_of(132, 227 * 1024, 90), 132 * GcmLong::least_share + 1));
    EXPECT_FALSE(GcmLong::takes(cuda::limits_of(132, 227 * 1024, 90), 132 * GcmLong::least_share)) << "medium";
    EXPECT_TRUE(GcmLong::takes(only_long(132), 132 * GcmLong::stride));
    EXPECT_FALSE(GcmLong::takes(only_long(132), 132 * GcmLong::stride - 1)) << "too short";
    EXPECT_FALSE(GcmLong::takes(cuda::limits_of(132, 163 * 1024, 80), blocks)) << "other tensor cores";
    EXPECT_FALSE(GcmLong::takes(cuda::limits_of(132, 192 * 1024, 90), blocks)) << "no room for four tables and powers";
    EXPECT_FALSE(GcmLong::takes(cuda::limits_of(132, 227 * 1024, 100), blocks)) << "no tensor cores for bits";
    DeviceLimits device = cuda::limits_of(132, 227 * 1024, 90);
    device.table.tensor_blocks = never;
    EXPECT_FALSE(GcmLong::takes(device, blocks)) << "a table that disables the kernel";
}

}  // namespace
}  // namespace warpaes
