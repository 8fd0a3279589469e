// The steps of a batch on a device: the batch is sorted into buckets, described, enqueued, and copied back.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/batch.hpp"
#include "cuda/batch_data.hpp"
#include "cuda/batch_keys.hpp"
#include "cuda/batch_merge.hpp"
#include "cuda/batch_side.hpp"

namespace warpaes::cuda {

class BatchWork {
public:
    /// `memory` belongs to this batch until the batch is finished.
    BatchWork(const BatchContext& context, BatchMemory& memory, MergedGroups groups);
    BatchWork(const BatchWork&) = delete;
    BatchWork& operator=(const BatchWork&) = delete;
    /// A batch that is not finished when it is destroyed has failed.
    ~BatchWork();

    /// Does the host's work before anything is enqueued; several batches may do this at the same time.
    void get_ready();
    void enqueue();
    void finish();
    /// Replaces enqueue() and finish() if no thread waits and all data are on the device: the device writes the
    /// statuses and wipes its secrets, in stream order. Returns whether the side buffer in host memory still contains
    /// keys.
    bool enqueue_and_leave();

private:
    static constexpr std::uint8_t no_bucket = 0xff;
    /// Number of buckets of a mode and direction: for three key lengths, short and long messages, and messages that do
    /// or do not fit a pass.
    static constexpr std::size_t kinds_of_bucket = 3 * 2 * 2;

    [[nodiscard]] BucketPlan& plan_for(const MessageGroup& g, std::uint8_t& index);
    void survey();
    void lay_out();
    void fill();
    void fill(BucketPlan& plan, std::size_t index, const MessageGroup& g);
    void prepare();
    void enqueue_kernels();
    void deliver();
    /// Enqueues a kernel that writes the statuses of a bucket's messages, from their `failed` bytes on the device. One
    /// kernel is enough for any number of groups.
    void tell(const Bucket& bucket) const;
    /// Cleans up after a failure: waits for the device, wipes secrets and releases keys.
    void abandon() noexcept;
    /// After a failure, wipes the texts that kernels may have decrypted without comparing their tags.
    void wipe_texts() noexcept;
    void wipe_secrets() noexcept;
    void wipe_device_secrets() noexcept;

    const BatchContext& context_;
    BatchMemory& memory_;
    MergedGroups groups_;
    BatchData data_;
    BatchSide side_;
    BatchKeys keys_;
    BatchSmall ivs_, aads_, tags_;
    Section failed_;
    std::vector<BucketPlan> plans_;
    std::array<std::uint8_t, mode_values * 2 * kinds_of_bucket> bucket_numbers_{};
    std::vector<std::uint8_t> bucket_of_;
    std::size_t tickets_at_ = 0, any_failed_at_ = 0;
    bool kernels_began_ = false, done_ = false;
};

}  // namespace warpaes::cuda
