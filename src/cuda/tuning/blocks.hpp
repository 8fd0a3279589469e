// Modes whose blocks are independent, and chaining modes that decrypt in parallel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "aes/types.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Threads per block of kernels that access page-locked memory in place: few, so that some thread blocks write while
/// other thread blocks read.
inline constexpr int zero_copy_threads = 256;

/// A short message in a mode whose blocks are independent (short.cu), one block per thread.
struct ShortMessage {
    static constexpr int threads = 256;
    static constexpr std::uint32_t least_share = 128;  ///< blocks per thread block

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes <= static_cast<std::uint64_t>(device.multiprocessors) * threads * block_bytes;
    }
};

struct ShortShape {
    LaunchShape launch;
    std::uint32_t share;  ///< blocks per thread block
};

/// `blocks` is at least one and includes a partial block.
constexpr ShortShape short_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(blocks / ShortMessage::least_share, 1, most);
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    return {{static_cast<int>((blocks + share - 1) / share), ShortMessage::threads, table_bytes_each, 1},
            static_cast<std::uint32_t>(share)};
}

/// Blocks of many messages (batch_blocks.cu, batch_xts.cu). Reading the round keys of a block from memory takes a
/// quarter as many passes of the load-store unit as its lookups. Therefore, if messages have their own keys, round keys
/// stay in registers, and half as many threads each have twice as many registers.
struct BatchBlocks {
    static constexpr int most_own_key_threads = 512;
    /// `parameters` means that round keys are kernel parameters instead of being kept in registers.
    static constexpr int most_threads(bool parameters) {
        return parameters ? most_table_threads : most_own_key_threads;
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, bool parameters, std::uint64_t blocks) {
        const auto threads = static_cast<int>(parameters ? device.table.threads : device.table.own_key_threads);
        return launch_shape(device, (blocks + 31) / 32, threads);
    }
};

/// Batches with at most FewKeys::most keys: from this amount of text, round keys are kernel parameters, so that as many
/// threads run as with one key. Copying the round keys takes the host about 10 µs.
struct BatchFewKeys {
#if defined(WARPAES_SIMT)
    static constexpr std::uint64_t least_bytes = 4096;  // the simulated GPU processes this amount in reasonable time
#else
    static constexpr std::uint64_t least_bytes = 64 << 20;
#endif
};

}  // namespace warpaes::cuda
