// What stands between a lane's batch (batch.hpp), which brings data and keys to the device, and the kernels for it.
//
// A batch is sorted into buckets. Each family of kernels, one for some modes, first prepares its buckets on the host
// (how messages are cut, how much scratch memory that takes), then, when all descriptors have been copied, enqueues its
// kernels.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

/// Groups of one mode, direction and key length.
struct Bucket {
    Mode mode;
    Direction direction;
    int rounds;
    bool long_messages;  ///< all BatchCounters::is_long, or all shorter; matters to counters alone
    /// The key of all messages, or null. Slots of keys are there all the same where `needs_slots`.
    const ExpandedKey* one_key = nullptr;
    const ExpandedKey* one_tweak_key = nullptr;

    /// Descriptors in host memory that is copied after `prepare`, which may sort them and numbers them: first_message,
    /// and if its kernel wants it first_unit. Pointers in them lead to the device's memory. No group is without
    /// messages; a message may be empty.
    std::span<BatchGroup> groups;
    /// XTS: one for each group, with the data unit and the slot of its tweak key; the rest is for `prepare` to say.
    std::span<XtsPart> xts;
    std::uint64_t messages = 0;  ///< of all groups
    std::uint64_t units = 0;     ///< `prepare` sets it
    std::uint32_t at_once = 0;   ///< counters: what a warp takes at a time; `prepare` sets it
    /// Device memory of its own for the bucket's kernels: `prepare` says how much, and `enqueue` finds it. Undefined at
    /// first, and overwritten with zeros when the batch is done.
    std::size_t scratch_bytes = 0;
    std::uint8_t* scratch = nullptr;

    const BatchGroup* on_device = nullptr;  ///< the groups there, for `enqueue`
    const XtsPart* xts_on_device = nullptr;
    unsigned long long* tickets = nullptr;  ///< there, `bucket_tickets` zeros
};

inline constexpr unsigned bucket_tickets = 4;

/// Whether a kernel of the mode reads round keys from slots (batch_params.cuh) even if all messages have one key: for
/// GCM and CMAC, H.
constexpr bool needs_slots(Mode mode) {
    return mode == Mode::gcm || mode == Mode::cmac;
}

/// The largest first, groups of one size as they came; mostly they do so already.
template <typename SizeOf>
void sort_groups(Bucket& bucket, const SizeOf& size_of) {
    const auto before = [&](const BatchGroup& a, const BatchGroup& b) { return size_of(a) > size_of(b); };
    if (std::is_sorted(bucket.groups.begin(), bucket.groups.end(), before)) return;
    std::stable_sort(bucket.groups.begin(), bucket.groups.end(), before);
}

/// Sets first_message and first_unit of every group, and the bucket's units. `units_of(group)`: its pieces of work.
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

/// ECB; CBC and CFB128 decryption; XTS.
void prepare_blocks(Bucket& bucket, const DeviceLimits& device);
void enqueue_blocks(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);

/// CTR, and for GCM the key stream. With `pads`, a block for every message of the bucket: there goes the encryption of
/// the counter block before the text's, E(J0). An IV that has not 12 bytes is J0 itself. `prepare` sets first_unit and
/// lanes, and takes no scratch memory.
void prepare_counters(Bucket& bucket, const DeviceLimits& device);
void enqueue_counters(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream, uint4* pads = nullptr);

/// CFB8 and CFB1 decryption.
void prepare_segments(Bucket& bucket, const DeviceLimits& device);
void enqueue_segments(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);

/// CBC, CFB128, CFB8 and CFB1 encryption, OFB; CMAC and CCM, tags included. All in one kernel, longest messages first.
void prepare_serial(Bucket& bucket, const DeviceLimits& device);
void enqueue_serial(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);

/// GCM: key stream, GHASH and tags. In decryption `failed` of every message is written, 0 or 1, and what is not
/// authentic is wiped.
void prepare_gcm(Bucket& bucket, const DeviceLimits& device);
void enqueue_gcm(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream);

}  // namespace warpaes::cuda
