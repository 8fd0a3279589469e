// Wiping of text that is not authentic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Output that is not authentic is wiped (wipe.cuh) in parts that are distributed over the warps, so that all
/// multiprocessors have work even if there are few messages.
struct WipeShape {
    static constexpr int threads = 128, blocks_each = 16;  ///< thread blocks per multiprocessor
    static constexpr std::uint64_t part_bytes = 4096, most_parts = 16384;

    static constexpr std::uint64_t parts(std::uint64_t bytes) {
        return std::clamp<std::uint64_t>(bytes / part_bytes, 1, most_parts);
    }
    /// Returns the number of parts that a warp processes at a time: one per lane if there are many parts.
    static constexpr std::uint32_t at_once(const DeviceLimits& device, std::uint64_t parts) {
        const auto warps = static_cast<std::uint64_t>(device.multiprocessors * blocks_each * threads / 32);
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts / warps, 1, 32));
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t parts) {
        const std::uint64_t each = at_once(device, parts);
        return thread_each(device, 32 * ((parts + each - 1) / each), threads, blocks_each);
    }
};

/// Like WipeShape, for one message. Every thread block first checks the tag.
struct WipeIfWrong {
    static constexpr int threads = 512, blocks_each = 2;
    /// From this length onwards, the kernel is launched before the tag is known. For shorter messages, the launch would
    /// delay authentic messages.
    static constexpr std::uint64_t least_ahead = 32 << 10;

    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t parts) {
        return thread_each(device, 32 * parts, threads, blocks_each);
    }
};

}  // namespace warpaes::cuda
