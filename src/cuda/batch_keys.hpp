// The buckets of a batch and their keys: which lie in slots of the device's memory, where, and what is enqueued so that
// they do.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/backend.hpp"
#include "cuda/batch_launch.hpp"
#include "cuda/batch_side.hpp"
#include "cuda/key_table.hpp"
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"

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

/// Its functions are called in the order in which they stand here.
class BatchKeys {
public:
    /// `slots`: for keys that have no place in the table. The table is shared, if there is one; all else is the
    /// batch's.
    BatchKeys(KeyTable* table, DeviceBuffer& slots, BatchSide& side, int device)
        : table_(table), slots_(slots), side_(side), raw_(side, device) {}

    /// For every group, in order.
    void survey(BucketPlan& plan, const MessageGroup& g);
    /// Their part of the side buffer, which is secret.
    void place(std::span<BucketPlan> plans);
    /// Memory for slots.
    void reserve(std::span<BucketPlan> plans);
    /// For every group in the same order, if its bucket has slots: what its descriptor says of keys.
    void fill(BucketPlan& plan, const MessageGroup& g, BatchGroup& d);
    /// The same of XTS's second key; null if the bucket has no slots.
    [[nodiscard]] const uint4* tweak_slot(BucketPlan& plan, const MessageGroup& g);
    /// What fills the slots, for the kernels that come after it on the stream.
    void enqueue(std::span<const BucketPlan> plans, const DeviceLimits& limits, cudaStream_t stream);
    /// When the device has ended; `done`: with success.
    void let_go(bool done) noexcept;

private:
    /// Of the bytes of keys that have handles.
    static constexpr std::size_t handle_stride = 32;
    /// More keys than these would only push each other out.
    static constexpr std::size_t most_table_keys = KeyTable::capacity / 4;

    [[nodiscard]] uint4* slot_of(const ExpandedKey& key, Handles& handles, bool inverse);
    void expand(const BucketPlan& plan, const DeviceLimits& limits, cudaStream_t stream) const;

    KeyTable* table_;
    DeviceBuffer& slots_;
    BatchSide& side_;
    BatchSmall raw_;
    std::vector<KeyTable::Held> held_;
    std::vector<std::uint32_t> wiped_;
};

}  // namespace warpaes::cuda
