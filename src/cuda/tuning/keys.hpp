// Expansion of keys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpaes::cuda {

/// Expansion of the keys of single messages, one thread per key (batch_keys.cu).
struct BatchKeysLaunch {
    static constexpr int threads = 256, blocks_each = 3;  ///< thread blocks per multiprocessor
    static constexpr int tables = 2;
    /// The number of keys that are expanded at a time; their slots occupy 256 MiB.
    static constexpr std::uint64_t most_at_a_time = std::uint64_t{1} << 20;
};

}  // namespace warpaes::cuda
