// What GCM leaves behind on the device: of what was secret, nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "cuda/architectures.hpp"
#include "cuda/run.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

/// Runs on device memory; returns the scratch memory as it was freed, which begins with what the kernels were given to
/// read.
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
                    EXPECT_GT(left.size(), counters) << "no scratch memory: this tests nothing";
                }
                ASSERT_GE(left.size(), counters);
                left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(counters));
                EXPECT_EQ(std::count(left.begin(), left.end(), 0), static_cast<std::ptrdiff_t>(left.size()))
                    << count << " segments of " << segment;
            }
        }
    }
}

}  // namespace
}  // namespace warpaes
