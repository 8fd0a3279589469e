// The buckets of a batch and their keys: which keys have slots in device memory, where the slots are, and which kernels
// fill the slots.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/backend.hpp"
#include "cuda/batch_launch.hpp"
#include "cuda/batch_side.hpp"
#include "cuda/key_table.hpp"
#include "cuda/resources.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Keys with handles. Each key gets a slot in the device's table or, if the table is full, in the batch's own memory.
/// Keys that are kernel parameters have no slots.
struct Handles {
    const ExpandedKey* last = nullptr;
    std::size_t most = 0;   ///< upper bound on the number of these keys; 0 if they have no slots
    bool mixed = false;     ///< whether there is more than one key
    bool few_only = false;  ///< whether the keys are only in `few_keys`
    struct Place {
        uint4* slot;
        std::uint32_t number;  ///< number of keys before this key
    };
    Place last_place{};
    std::unordered_map<const ExpandedKey*, Place> places;
    std::vector<const ExpandedKey*> few_keys;  ///< the first FewKeys::most keys
    std::uint8_t* own_slots = nullptr;
    std::size_t own = 0;
    /// The number of keys to expand. If `most` is at most KeyParams::most_few, the keys' bytes and the addresses of
    /// their slots are in `few`. Otherwise they are in the side buffer, at `bytes_at` and `targets_at`.
    std::size_t fresh = 0;
    std::unique_ptr<Secret<KeyParams>> few;
    std::size_t bytes_at = 0, targets_at = 0;

    void survey(const ExpandedKey* key) {
        if (key == last) return;
        last = key;
        mixed |= most++ != 0;
    }
};

/// The state of a bucket, in addition to its kernels' parameters.
struct BucketPlan {
    Bucket bucket{};
    std::size_t groups = 0, filled = 0;
    std::uint64_t bytes = 0;  ///< of text
    bool mixed = false;       ///< whether the bucket has more than one key, not counting XTS's second keys
    bool tells = false;       ///< whether groups have statuses
    Handles keys, tweak_keys;
    std::uint64_t raw_slots = 0, raw_filled = 0;
    uint4* raw_slots_at = nullptr;
    std::size_t descriptors_at = 0, xts_at = 0, runs_at = 0;

    /// The text is long enough to justify copying the keys to the kernels' parameters.
    [[nodiscard]] bool may_have_few_keys() const {
        return mixed && raw_slots == 0 && bytes >= BatchFewKeys::least_bytes;
    }
    [[nodiscard]] bool inverse() const { return uses_inverse_cipher(bucket.mode, bucket.direction); }
};

/// The functions must be called in the order of their declarations.
class BatchKeys {
public:
    /// `slots` is memory for keys that do not fit in the table. The table, if there is one, is shared; all other memory
    /// belongs to the batch.
    BatchKeys(KeyTable* table, DeviceBuffer& slots, BatchSide& side, int device)
        : table_(table), slots_(slots), side_(side), raw_(side, device) {}

    /// Must be called for every group, in order.
    void survey(BucketPlan& plan, const MessageGroup& g);
    /// Places the keys' part of the side buffer; this part is secret.
    void place(std::span<BucketPlan> plans);
    /// Reserves memory for slots.
    void reserve(std::span<BucketPlan> plans);
    /// Must be called for every group in the same order: sets the key fields of the group's descriptor.
    void fill(BucketPlan& plan, const MessageGroup& g, BatchGroup& d);
    /// Returns the slot of XTS's second key; null if the bucket has only one such key.
    [[nodiscard]] const uint4* tweak_slot(BucketPlan& plan, const MessageGroup& g);
    /// Must be called after all groups are filled: passes keys as kernel parameters for buckets with few keys and much
    /// text.
    static void finish_filling(std::span<BucketPlan> plans);
    /// Enqueues the kernels that fill the slots, before later kernels on the stream.
    void enqueue(std::span<const BucketPlan> plans, const DeviceLimits& limits, cudaStream_t stream);
    /// Must be called when the device has finished; `done` means that it succeeded.
    void let_go(bool done) noexcept;

private:
    /// A batch with more keys than this does not use the table, because the keys would only evict each other.
    static constexpr std::size_t most_table_keys = KeyTable::capacity / 4;

    [[nodiscard]] Handles::Place place_of(const ExpandedKey& key, Handles& handles, bool inverse);
    void expand(const BucketPlan& plan, const DeviceLimits& limits, cudaStream_t stream) const;

    KeyTable* table_;
    DeviceBuffer& slots_;
    BatchSide& side_;
    BatchSmall raw_;
    std::vector<KeyTable::Held> held_;
    KeyTable::Wipe wipe_;
};

}  // namespace warpaes::cuda
