// Counters for CTR, random numbers, and the key stream of GCM batches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the CTR kernel (see ctr.cuh). With more groups, more blocks share one B(g),
/// but the kernel needs more registers and instruction cache.
inline constexpr int ctr_width = 4;

/// Groups of 32 blocks per unit of work for random numbers, and the number of threads of their kernel.
inline constexpr int numbers_width = 2, numbers_threads = 1024;

/// Counters of many messages (batch_ctr.cu).
struct BatchCounters {
    /// If messages have their own keys, the round keys stay in registers: half as many threads each have twice as many
    /// registers.
    static constexpr int most_own_key_threads = 512;
    static constexpr int most_threads(bool parameters) {
        return parameters ? most_table_threads : most_own_key_threads;
    }
    static constexpr int threads(const DeviceLimits& device, bool parameters) {
        return static_cast<int>(parameters ? device.table.threads : device.table.own_key_threads);
    }

    /// Whether a warp processes a message in windows and keeps A(j) between windows.
    static constexpr bool is_long(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes >= device.table.long_counter_bytes;
    }
    static constexpr std::uint64_t most_short = 65536;  ///< in bytes; the upper limit of
                                                        ///< LaunchTable::long_counter_bytes

    /// log2 of the number of threads that share a short message of `blocks` blocks. Consecutive messages start
    /// `distance` bytes apart. The cost is estimated in passes of a warp through the load-store unit. Each message
    /// takes 37 passes per thread: 27 lookups, and finding the message. If the round keys are read from a slot, a
    /// message takes 36 additional passes per thread. A block of AES-128 takes 133 passes. Each load or store of 32
    /// blocks takes one pass for each line of 128 bytes, and at least four.
    static constexpr std::uint32_t passes = 37, passes_of_slot = 36, passes_of_block = 133;
    static constexpr std::uint32_t log_lanes(std::uint32_t blocks, std::uint64_t distance, bool one_key) {
        std::uint32_t best = 0;
        std::uint64_t least = ~std::uint64_t{0};
        for (std::uint32_t log = 0; log <= 5; ++log) {
            const std::uint64_t lanes = std::uint64_t{1} << log, messages = 32 / lanes;
            const std::uint64_t own = messages * (lanes > 8 ? lanes / 8 : 1);
            const std::uint64_t lines = distance > 4096 ? own : std::min(own, (messages * distance + 127) / 128);
            const std::uint64_t each = passes_of_block + 2 * std::max<std::uint64_t>(lines, 4);
            const std::uint64_t time =
                lanes * ((one_key ? passes : passes + passes_of_slot) + (blocks + lanes - 1) / lanes * each);
            if (time < least) {
                least = time;
                best = log;
            }
        }
        return best;
    }

    static constexpr std::uint64_t turns = 8;  ///< minimum number of turns per warp, if there is enough work
    static constexpr std::uint64_t most_steps = 64, most_windows = 16;

    /// The number of steps of 32 threads that a warp claims at a time.
    static constexpr std::uint32_t steps_at_once(const DeviceLimits& device, std::uint64_t steps) {
        const std::uint64_t each = steps / (warps_of(device) * turns);
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 1, most_steps));
    }
    /// The number of windows of a long message that a warp claims at a time: a power of two, because the lengths of
    /// long messages are usually multiples of a power of two.
    static constexpr std::uint32_t windows_at_once(const DeviceLimits& device, std::uint64_t windows) {
        const std::uint64_t each = 4 * windows / (warps_of(device) * turns);
        return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(each, 1, most_windows)));
    }
};

}  // namespace warpaes::cuda
