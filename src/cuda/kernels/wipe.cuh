// Overwrites the output of messages that are not authentic.
//
// Anyone can send such messages, so wiping must not take longer than decryption: the outputs are cut into parts of
// about the same size, which all warps of the grid share.
#pragma once

#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// Returns a word of the tag in device memory.
__device__ __attribute__((noinline)) inline std::uint32_t expected_word(const TagCheck& check, unsigned word) {
    std::uint32_t expected = 0;
#pragma unroll 1
    for (unsigned at = 4 * word; at < 4 * word + 4 && at < check.expected_bytes; ++at) {
        expected |= std::uint32_t{check.expected_at[at]} << (8 * (at % 4));
    }
    return expected;
}

/// Whether a word of the tag differs from `actual`. Tags in device memory have a function of their own, because a short
/// kernel waits for each instruction that it loads for the first time.
__device__ __forceinline__ bool is_wrong(const TagCheck& check, unsigned word, std::uint32_t actual) {
    const std::uint32_t expected = check.expected_at != nullptr ? expected_word(check, word) : check.expected[word];
    return ((actual ^ expected) & check.mask[word]) != 0;
}

/// Bytes in device memory.
struct Stretch {
    std::uint8_t* first = nullptr;
    std::uint64_t bytes = 0;
};

/// Returns part `part` of `parts` of a message's output. All parts except the last have the same size.
__device__ __forceinline__ Stretch part_of(std::uint8_t* output, std::uint64_t length, std::uint64_t part,
                                           std::uint64_t parts) {
    const std::uint64_t each = (length + 16 * parts - 1) / (16 * parts) * 16, begin = part * each;
    if (begin >= length) return {};
    return {output + begin, length - begin < each ? length - begin : each};
}

/// Writes zeros to the stretch of every lane. All lanes of the warp write each stretch together.
__device__ inline void wipe_stretches(Stretch mine) {
    __syncwarp();
    const unsigned lane = lane_id();
    for (unsigned some = __ballot_sync(full_warp, mine.bytes != 0); some != 0; some &= some - 1) {
        const auto of = static_cast<unsigned>(__ffs(static_cast<int>(some)) - 1);
        auto* at = reinterpret_cast<std::uint8_t*>(shuffle(reinterpret_cast<std::uintptr_t>(mine.first), of));
        std::uint64_t bytes = shuffle(mine.bytes, of);
        const auto before = static_cast<unsigned>(-reinterpret_cast<std::uintptr_t>(at) % 16);
        const unsigned head = bytes < before ? static_cast<unsigned>(bytes) : before;
        if (lane < head) global(at)[lane] = 0;
        at += head;
        bytes -= head;
        for (std::uint64_t block = lane; block < bytes / 16; block += warp_lanes) {
            global(reinterpret_cast<uint4*>(at))[block] = make_uint4(0, 0, 0, 0);
        }
        const auto tail = static_cast<unsigned>(bytes % 16);
        if (lane < tail) global(at)[bytes - tail + lane] = 0;
    }
}

/// Wipes a short stretch. Must be called by all threads of one thread block.
__device__ __forceinline__ void wipe_by_block(std::uint8_t* output, std::uint64_t bytes) {
    const unsigned warps = blockDim.x / warp_lanes, warp = threadIdx.x / warp_lanes;
    Stretch mine;
    if (lane_id() == 0) mine = part_of(output, bytes, warp, warps);
    wipe_stretches(mine);
}

/// Calls `stretch_of(unit)` once for each of `units` parts, in one lane each, and wipes the returned stretch. A warp
/// processes `at_once` parts at a time, at most 32. Must be called by all threads of the grid.
template <typename StretchOf>
__device__ __forceinline__ void wipe_parts(std::uint64_t units, std::uint32_t at_once, const StretchOf& stretch_of) {
    const std::uint64_t step = global_warps() * at_once;
    for (std::uint64_t first = global_warp() * at_once; first < units; first += step) {
        const std::uint64_t unit = first + lane_id();
        Stretch mine;
        if (lane_id() < at_once && unit < units) mine = stretch_of(unit);
        wipe_stretches(mine);
    }
}

}  // namespace warpaes::cuda
