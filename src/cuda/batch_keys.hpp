// The keys of a batch: which lie in slots of the device's memory, where, and what is enqueued so that they do.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "cuda/batch_plan.hpp"
#include "cuda/batch_side.hpp"
#include "cuda/key_table.hpp"
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

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
    /// For every group in the same order: what its descriptor says of keys.
    void fill(BucketPlan& plan, const MessageGroup& g, BatchGroup& d) {
        d.keys = nullptr;
        d.key_stride = 0;
        d.raw_keys = nullptr;
        d.raw_key_stride = 0;
        if (plan.slots) fill_slots(plan, g, d);
    }
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

    void fill_slots(BucketPlan& plan, const MessageGroup& g, BatchGroup& d);
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
