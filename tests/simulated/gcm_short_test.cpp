// GCM in one launch by machines of different sizes: the weights of thread blocks, warps and rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "cuda/architectures.hpp"
#include "cuda/run.hpp"
#include "evp_oracle.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using Bytes = std::vector<std::uint8_t>;
using cuda::DeviceLimits;
using cuda::GcmShort;

/// Ciphertext and tag.
Bytes sealed_by(const DeviceLimits& device, const Bytes& key_bytes, const Bytes& iv, const Bytes& text,
                Direction direction) {
    const ExpandedKey key(key_bytes);
    CudaBackend& backend = cuda_backend();
    auto* const data = static_cast<std::uint8_t*>(backend.device_alloc(0, std::max<std::size_t>(text.size(), 1)));
    auto* const result = static_cast<Block*>(backend.device_alloc(0, sizeof(Block)));
    std::copy(text.begin(), text.end(), data);
    Block j0{};
    std::copy(iv.begin(), iv.end(), j0.begin());
    j0[15] = 1;
    cuda::enqueue(GcmRun{.direction = direction,
                         .key = &key,
                         .input = data,
                         .output = data,
                         .segment_bytes = text.size(),
                         .last_bytes = text.size(),
                         .input_stride = text.size(),
                         .output_stride = text.size(),
                         .j0 = &j0,
                         .result = GcmRun::Result::tag,
                         .results = result},
                  device, nullptr);
    backend.synchronize(0, nullptr);
    Bytes sealed(data, data + text.size());
    sealed.insert(sealed.end(), result->begin(), result->end());
    backend.device_free(data);
    backend.device_free(result);
    return sealed;
}

TEST(GcmShort, SharesOfEveryNumberOfThreadBlocks) {
    const Bytes key(16, 0x5a), iv(12, 0x21);
    for (const int multiprocessors : {1, 15, 16, 17, 33, 132}) {
        for (const int capability : {80, 90}) {
            const DeviceLimits device = cuda::limits_of(multiprocessors, 227 * 1024, capability);
            const std::size_t all = static_cast<std::size_t>(multiprocessors) * GcmShort::least_share * block_bytes;
            for (const std::size_t bytes : {all, all - 5, all - 16 * GcmShort::least_share + 1}) {
                if (capability == 80 && multiprocessors > 17) continue;  // the same weights, and slow to simulate
                Bytes text(bytes);
                for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8));
                SCOPED_TRACE(std::to_string(bytes) + " bytes, multiprocessors: " + std::to_string(multiprocessors));
                const Bytes expected = oracle::evp_gcm(key, iv, text, {});
                ASSERT_EQ(sealed_by(device, key, iv, text, Direction::encrypt), expected);
                Bytes opened = sealed_by(device, key, iv, {expected.begin(), expected.end() - 16}, Direction::decrypt);
                ASSERT_TRUE(std::equal(text.begin(), text.end(), opened.begin()));
                ASSERT_TRUE(std::equal(expected.end() - 16, expected.end(), opened.end() - 16)) << "tag";
            }
        }
    }
}

/// One thread block: as many rows and warps as a share fills, of half a chunk and of a whole one.
TEST(GcmShort, RowsOfAShare) {
    const Bytes key(32, 0xa5), iv(12, 0x42);
    const DeviceLimits device = cuda::limits_of(1, 227 * 1024, 90);
    constexpr std::size_t row = GcmShort::half_row * block_bytes, warp = 8 * row, all = GcmShort::warps * warp;
    for (const std::size_t bytes : {row - 1, row, row + 16, warp, warp + 1, 4 * warp + 16, all, all + 16, 2 * all}) {
        Bytes text(bytes);
        for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>(i * 73 + (i >> 7));
        ASSERT_EQ(sealed_by(device, key, iv, text, Direction::encrypt), oracle::evp_gcm(key, iv, text, {})) << bytes;
    }
    ASSERT_FALSE(cuda::GcmShortShape::takes(device, 2 * all / block_bytes + 1)) << "then it goes in two passes";
}

}  // namespace
}  // namespace warpaes
