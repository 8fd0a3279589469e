// How a batch is sorted: its buckets and their keys.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "backend/backend.hpp"
#include "cuda/batch_launch.hpp"

namespace warpaes::cuda {

/// Keys with handles, each of which gets a slot: in the device's table, or if it has no room in the batch's own memory.
struct Handles {
    const ExpandedKey* last = nullptr;
    uint4* last_slot = nullptr;
    std::size_t most = 0;  ///< as many as there may be
    std::unordered_map<const ExpandedKey*, uint4*> slots;
    std::uint8_t* own_slots = nullptr;
    std::size_t own = 0;
    std::size_t fresh = 0;  ///< to be expanded: keys and where to are in the side buffer
    std::size_t bytes_at = 0, targets_at = 0;

    /// Whether it is another than before.
    bool survey(const ExpandedKey* key) {
        if (key == last) return false;
        last = key;
        return most++ != 0;
    }
};

/// What is done with a bucket, beside what its kernels know.
struct BucketPlan {
    Bucket bucket{};
    std::size_t groups = 0, filled = 0;
    bool mixed = false;  ///< more than one key
    bool slots = false;  ///< keys in slots
    Handles keys, tweak_keys;
    std::uint64_t raw_slots = 0, raw_filled = 0;
    uint4* raw_slots_at = nullptr;
    std::size_t descriptors_at = 0, xts_at = 0;

    [[nodiscard]] bool inverse() const { return uses_inverse_cipher(bucket.mode, bucket.direction); }
};

}  // namespace warpaes::cuda
