// The interface between a lane's batch (batch.hpp), which transfers data and keys to the device, and the kernels.
//
// A batch is sorted into buckets. Each family of kernels supports some modes. A family first prepares its buckets on
// the host: the division of messages, and the size of scratch memory. When all descriptors have been copied, it
// enqueues its kernels.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/counters.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Groups of one mode, direction and key length.
struct Bucket {
    Mode mode;
    Direction direction;
    int rounds;
    bool long_messages;  ///< counter modes: either all messages satisfy BatchCounters::is_long or none does
    /// The key of all messages, or null. Modes for which `needs_slots` is true use key slots even if there is only one
    /// key.
    const ExpandedKey* one_key = nullptr;
    const ExpandedKey* one_tweak_key = nullptr;
    /// The keys of all messages in the order of BatchGroup::key_number, if there are few keys and the batch is large
    /// enough to justify copying them; otherwise empty.
    std::span<const ExpandedKey* const> few_keys;
    /// The same for GCM in one pass, for any size of the batch.
    std::span<const ExpandedKey* const> keys;

    /// Descriptors in host memory. They are copied after `prepare`, which may sort them and which sets first_message
    /// and, if the kernel needs it, first_unit. Their pointers refer to device memory. No group is without messages,
    /// but a message may be empty.
    std::span<BatchGroup> groups;
    /// XTS: one part for each group, with the data unit and the slot of the group's tweak key; `prepare` sets the other
    /// fields.
    std::span<XtsPart> xts;
    /// GCM with more than one key: room for one run per group. `prepare` sorts the first `run_groups` groups by key and
    /// sets the runs for the keys of these groups.
    std::span<KeyRun> runs;
    std::size_t run_groups = 0;
    bool fits_one_pass = false;  ///< GCM: all messages satisfy GcmOnePass::fits
    GcmOnePass one_pass;         ///< GCM: set by `prepare`
    std::uint64_t messages = 0;  ///< number of messages in all groups
    std::uint64_t units = 0;     ///< set by `prepare`
    std::uint32_t at_once = 0;   ///< counter modes: units that a warp processes at a time; set by `prepare`
    /// Device memory that only this bucket's kernels use: `prepare` sets its size, and `enqueue` uses it. Its contents
    /// are initially undefined, and are overwritten with zeros when the batch is finished.
    std::size_t scratch_bytes = 0;
    std::uint8_t* scratch = nullptr;

    const BatchGroup* on_device = nullptr;  ///< the groups in device memory; for `enqueue`
    const XtsPart* xts_on_device = nullptr;
    const KeyRun* runs_on_device = nullptr;
    unsigned long long* tickets = nullptr;  ///< in device memory: `bucket_tickets` zeros

    /// Whether the kernels for blocks, counters and XTS read round keys from their parameters instead of from slots.
    [[nodiscard]] bool keys_are_parameters() const { return one_key != nullptr || !few_keys.empty(); }
};

inline constexpr unsigned bucket_tickets = 4;

/// Whether the kernels of a mode read slots (batch_params.cuh) even if all messages have the same key: for the subkey.
constexpr bool needs_slots(Mode mode) {
    return traits_of(mode).kind.keys == KeyValues::with_subkey;
}

/// Sorts the groups, largest first; groups of equal size keep their order. Usually they are already in order.
template <typename SizeOf>
void sort_groups(Bucket& bucket, const SizeOf& size_of) {
    const auto before = [&](const BatchGroup& a, const BatchGroup& b) { return size_of(a) > size_of(b); };
    if (std::is_sorted(bucket.groups.begin(), bucket.groups.end(), before)) return;
    std::stable_sort(bucket.groups.begin(), bucket.groups.end(), before);
}

/// Sets first_message and first_unit of every group, and the bucket's units. `units_of(group)` returns the number of a
/// group's work units.
template <typename UnitsOf>
void number_groups(Bucket& bucket, const UnitsOf& units_of) {
    std::uint64_t messages = 0, units = 0;
    for (BatchGroup& group : bucket.groups) {
        group.first_message = messages;
        group.first_unit = units;
        messages += group.count;
        units += units_of(group);
    }
    bucket.messages = messages;
    bucket.units = units;
}

/// Sets the kernels' parameters for the bucket, including the round keys if it has one key.
void set_batch(BatchParams& p, const Bucket& bucket);

struct Family {
    void (*prepare)(Bucket&, const DeviceLimits&);
    void (*enqueue)(const Bucket&, const DeviceLimits&, cudaStream_t);
};
/// Returns the family of kernels that supports the mode.
Family family_of(Mode mode, Direction direction);

/// For CTR and the GCM key stream. If `pads` is not null, it must have room for one block per message of the bucket,
/// and receives E(J0). J0 is the counter block before the counter blocks of the text. An IV that is not 12 bytes long
/// is J0 itself. `prepare` sets first_unit and lanes, and needs no scratch memory.
void prepare_counters(Bucket& bucket, const DeviceLimits& device);
void enqueue_counters(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream, uint4* pads = nullptr);

/// For GCM: key stream, GHASH and tags. Decryption writes 0 or 1 to `failed` for every message, and wipes outputs that
/// are not authentic.
void prepare_gcm(Bucket& bucket, const DeviceLimits& device);
void enqueue_gcm(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);
/// GCM in one pass. `prepare` returns whether the batch should use one pass; if not, only the order of groups has
/// changed.
bool prepare_one_pass(Bucket& bucket, const DeviceLimits& device);
void enqueue_one_pass(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);

}  // namespace warpaes::cuda
