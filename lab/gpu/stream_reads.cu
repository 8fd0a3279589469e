#include <algorithm>
#include <vector>

#include "lab/gpu/launch.hpp"
#include "lab/gpu/stream_reads.hpp"

namespace lab::gpu {
namespace {

constexpr unsigned threads = 256;

__host__ __device__ constexpr std::uint32_t mix(std::uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(x ^ (x >> 32));
}

__global__ void __launch_bounds__(threads) make_blocks(std::uint32_t* words, std::uint64_t count) {
    const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += all) words[i] = mix(i);
}

struct StreamParams {
    const uint4* blocks;
    std::uint32_t* sums;
    std::uint32_t streams, stream_blocks, run, distance;  ///< run: number of contiguous blocks
};

/// Returns the index of block `i` of stream `thread`.
__host__ __device__ constexpr std::uint64_t block_at(const StreamParams& p, std::uint32_t thread, std::uint32_t i) {
    return std::uint64_t{i / p.run} * p.streams * p.distance + std::uint64_t{thread} * p.distance + i % p.run;
}

__global__ void __launch_bounds__(threads) read_streams(const __grid_constant__ StreamParams p) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t sum = 0;
#pragma unroll 4
    for (std::uint32_t i = 0; i < p.stream_blocks; ++i) {
        const uint4 block = p.blocks[block_at(p, thread, i)];
        sum += block.x ^ block.y ^ block.z ^ block.w;
    }
    p.sums[thread] = sum;
}

std::uint32_t sum_of(const StreamParams& p, std::uint32_t thread) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < p.stream_blocks; ++i) {
        const std::uint64_t first = 4 * block_at(p, thread, i);
        sum += mix(first) ^ mix(first + 1) ^ mix(first + 2) ^ mix(first + 3);
    }
    return sum;
}

StreamParams params_of(const DeviceMemory& blocks, const DeviceMemory& sums, std::uint32_t streams,
                       std::uint32_t stream_blocks, std::uint32_t distance) {
    return {reinterpret_cast<const uint4*>(blocks.get()),
            reinterpret_cast<std::uint32_t*>(sums.get()),
            streams,
            stream_blocks,
            std::max(1u, std::min(distance, stream_blocks)),
            distance};
}

}  // namespace

StreamReads::StreamReads(std::uint32_t streams, std::uint32_t stream_blocks, std::uint32_t most_distance)
    : streams_((streams + threads - 1) / threads * threads),
      stream_blocks_(stream_blocks),
      blocks_(std::size_t{16} * streams_ * std::max(stream_blocks, most_distance)),
      sums_(std::size_t{4} * streams_) {
    launch(make_blocks, 256, threads, 0, stream_, reinterpret_cast<std::uint32_t*>(blocks_.get()), blocks_.size() / 4);
    fill(sums_.get(), 0xa5, sums_.size(), stream_);
    stream_.synchronize();
}

double StreamReads::run(std::uint32_t distance) {
    distance_ = distance;
    const StreamParams params = params_of(blocks_, sums_, streams_, stream_blocks_, distance);
    return seconds_of(stream_, [&] { launch(read_streams, streams_ / threads, threads, 0, stream_, params); });
}

bool StreamReads::verify() const {
    if (distance_ == 0) return false;
    const StreamParams params = params_of(blocks_, sums_, streams_, stream_blocks_, distance_);
    std::vector<std::uint32_t> sums(streams_);
    copy(sums.data(), sums_.get(), sums_.size());
    for (std::uint32_t thread = 0; thread < streams_; ++thread) {
        if (sums[thread] != sum_of(params, thread)) return false;
    }
    return true;
}

}  // namespace lab::gpu
