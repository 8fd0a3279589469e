#include <algorithm>
#include <stdexcept>
#include <warpaes/device.cuh>

#include "lab/gpu/contenders.hpp"
#include "lab/gpu/launch.hpp"

namespace lab::gpu {
namespace {

namespace aes = warpaes::device;

constexpr unsigned threads = 256, blocks_of_warp = 1024;

struct BitslicedParams {
    const uint4* input;
    uint4* output;
    std::uint64_t blocks;
    std::uint64_t counter_high, counter_low;
    aes::bitsliced_key<128> key;
};

__device__ __forceinline__ std::uint32_t big_endian(std::uint64_t v) {
    return __byte_perm(static_cast<std::uint32_t>(v), 0, 0x0123);
}

/// A warp encrypts 1,024 blocks at a time.
template <bool Counter>
__global__ void __launch_bounds__(threads) bitsliced_kernel(const __grid_constant__ BitslicedParams p) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (threads / 32);
    for (std::uint64_t first = (std::uint64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32) * blocks_of_warp;
         first < p.blocks; first += warps * blocks_of_warp) {
        uint4 blocks[32];
        std::uint32_t planes[128];
        if constexpr (Counter) {
            const std::uint64_t low = p.counter_low + first, high = p.counter_high + (low < first);
            aes::counter_planes(
                make_uint4(big_endian(high >> 32), big_endian(high), big_endian(low >> 32), big_endian(low)), lane,
                planes);
        } else {
#pragma unroll
            for (unsigned j = 0; j < 32; ++j) {
                const std::uint64_t at = first + 32 * j + lane;
                blocks[j] = at < p.blocks ? p.input[at] : make_uint4(0, 0, 0, 0);
            }
            aes::to_planes(blocks, planes);
        }
        aes::encrypt_planes(p.key, planes);
        aes::from_planes(planes, blocks);
#pragma unroll
        for (unsigned j = 0; j < 32; ++j) {
            const std::uint64_t at = first + 32 * j + lane;
            if (at >= p.blocks) break;
            uint4 out = blocks[j];
            if constexpr (Counter) {
                const uint4 text = p.input[at];
                out = make_uint4(out.x ^ text.x, out.y ^ text.y, out.z ^ text.z, out.w ^ text.w);
            }
            p.output[at] = out;
        }
    }
}

auto kernel_of(bool counter) {
    return counter ? &bitsliced_kernel<true> : &bitsliced_kernel<false>;
}

}  // namespace

void run_bitsliced(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, const std::uint8_t* input,
                   std::uint8_t* output, std::size_t bytes, const Stream& stream) {
    if (key.size() != 16) throw std::invalid_argument("key: 16 bytes");
    if (bytes % 16 != 0) throw std::invalid_argument("bytes: whole blocks");
    BitslicedParams p{};
    p.input = reinterpret_cast<const uint4*>(input);
    p.output = reinterpret_cast<uint4*>(output);
    p.blocks = bytes / 16;
    if (!counter.empty()) {
        if (counter.size() != 16) throw std::invalid_argument("counter: 16 bytes");
        for (std::size_t i = 0; i < 16; ++i) {
            std::uint64_t& half = i < 8 ? p.counter_high : p.counter_low;
            half = half << 8 | counter[i];
        }
        if (p.counter_low % blocks_of_warp != 0) throw std::invalid_argument("counter: a multiple of 1,024");
    }
    if (bytes == 0) return;
    p.key.load(aes::expand_key(aes::make_key<128>(key.data())));
    const std::uint64_t wanted = (p.blocks + blocks_of_warp * (threads / 32) - 1) / (blocks_of_warp * (threads / 32));
    int device = 0;
    check(cudaGetDevice(&device), "asking for the device");
    static const int multiprocessors = properties(device).multiprocessors;
    launch(kernel_of(!counter.empty()),
           static_cast<unsigned>(std::min<std::uint64_t>(wanted, static_cast<unsigned>(multiprocessors))), threads, 0,
           stream, p);
}

Resources bitsliced_resources(bool counter) {
    const auto* const kernel = reinterpret_cast<const void*>(kernel_of(counter));
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's attributes");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0),
          "asking for a kernel's occupancy");
    return {attributes.numRegs, attributes.localSizeBytes, attributes.sharedSizeBytes, blocks};
}

}  // namespace lab::gpu
