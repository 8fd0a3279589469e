// Batches of GCM in one pass: decides whether a bucket is processed in one pass, and launches the kernels
// (kernels/gcm_pass.cu, kernels/gcm_windows.cu).
#include <algorithm>
#include <numeric>

#include "cuda/batch_launch.hpp"
#include "cuda/gcm_weights.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

using Kernels = GcmOnePass::Kernels;

/// Returns the facts about a bucket's messages from which the time of one pass is estimated.
GcmPassWork work_of(const Bucket& bucket) {
    GcmPassWork work;
    for (const BatchGroup& g : bucket.groups) {
        work.add(g.count, blocks_of(g.length), blocks_of(g.aad_length));
        work.aligned = work.aligned && g.alignment == block_bytes;
    }
    return work;
}

void enqueue_pass(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    using G = GcmPass;
    const GcmPassShape& shape = bucket.one_pass.pass;
    const auto& weights = bucket.one_key->derived<GcmWeights>();
    Secret<GcmPassParams> p;
    set_batch(p->batch, bucket);
    p->log_rows = shape.log_rows;
    p->aad_steps = shape.aad_steps;
    p->tiles = static_cast<std::uint32_t>(G::tiles_of(bucket.messages, p->log_rows));
    p->weighted = shape.weighted ? 1 : 0;
    // Without weights, the lowest powers belong to positions after the end of a message, whose blocks are zero.
    const std::uint64_t after = p->weighted != 0 ? 0 : 3 - blocks_of(bucket.groups.front().length) % 4;
    std::fill_n(p->powers, after, field_one);
    std::copy(weights.pass_powers[p->log_rows], weights.pass_powers[p->log_rows] + HashKey::count - after,
              p->powers + after);
    std::copy(std::begin(weights.pass_weights), std::end(weights.pass_weights), p->weights);
    launch(gcm_pass_kernel_for(bucket.rounds, bucket.direction), G::shape(device, p->tiles), stream, *p);
}

void enqueue_windows(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    const GcmWindowWeights& weights = bucket.one_key->derived<GcmWeights>().windows;
    Secret<GcmWindowsParams> p;
    set_batch(p->batch, bucket);
    p->pads = reinterpret_cast<uint4*>(bucket.scratch);
    p->sums = reinterpret_cast<WindowsSum*>(p->pads + bucket.messages);
    p->decrypts = bucket.direction == Direction::decrypt ? 1 : 0;
    p->weights = weights;
    check(cudaMemsetAsync(p->sums, 0, bucket.messages * sizeof(WindowsSum), stream), "clearing sums");
    launch(gcm_windows_kernel_for(bucket.rounds, bucket.direction, bucket.one_pass.aligned),
           GcmWindows::shape(device, bucket.units), stream, *p);
    launch(gcm_settle_windows_kernel_for(),
           thread_each(device, 4 * bucket.messages, ThreadEach::threads, ThreadEach::blocks_each), stream, *p);
}

}  // namespace

bool prepare_one_pass(Bucket& bucket, const DeviceLimits& device) {
    if (bucket.one_key == nullptr || bucket.groups.empty()) return false;
    bucket.one_pass = GcmOnePass::choose(device, work_of(bucket));
    if (bucket.one_pass.kernels == Kernels::several) return false;
    sort_groups(bucket, [](const BatchGroup& g) { return g.length; });
    // The kernel that wipes forged messages uses these units after either of the two kernels.
    number_groups(bucket, [](const BatchGroup& g) { return g.count * GcmWindows::windows_of(g.length, g.aad_length); });
    if (bucket.one_pass.kernels == Kernels::windows) {
        bucket.scratch_bytes = bucket.messages * (sizeof(uint4) + sizeof(WindowsSum));
    }
    return true;
}

void enqueue_one_pass(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    if (bucket.one_pass.kernels == Kernels::pass) {
        enqueue_pass(bucket, device, stream);
    } else {
        enqueue_windows(bucket, device, stream);
    }
    if (bucket.direction == Direction::encrypt) return;
    WipeFailedParams wipe{};
    wipe.groups = bucket.on_device;
    wipe.group_count = static_cast<std::uint32_t>(bucket.groups.size());
    wipe.units = bucket.units;
    wipe.at_once = WipeShape::at_once(device, wipe.units);
    wipe.any_failed = bucket.groups.front().any_failed;
    launch(wipe_failed_kernel_for(), WipeShape::shape(device, wipe.units), stream, wipe);
}

}  // namespace warpaes::cuda
