// Batches of GCM in one pass: decides whether a bucket is processed in one pass, and launches the kernels
// (kernels/gcm_pass.cu, kernels/gcm_windows.cu).
#include <algorithm>
#include <bit>
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
    work.keys = bucket.one_key != nullptr ? 1 : bucket.keys.size();
    work.decrypts = bucket.direction == Direction::decrypt;
    for (const BatchGroup& g : bucket.groups) {
        work.add(g.count, blocks_of(g.length), blocks_of(g.aad_length));
        work.aligned = work.aligned && g.alignment == block_bytes;
    }
    return work;
}

PassRows rows_of(const GcmPassShape& shape) {
    return {shape.log_rows, shape.aad_steps, shape.weighted ? 1u : 0u};
}

/// Returns the number of powers that belong to positions after the end of a message. Without weights, these are the
/// lowest powers, and the blocks at these positions are zero.
std::uint32_t positions_after(const Bucket& bucket) {
    if (bucket.one_pass.pass.weighted) return 0;
    return static_cast<std::uint32_t>(3 - blocks_of(bucket.groups.front().length) % 4);
}

/// The units of the kernels for windows, and of the kernel that wipes forged messages after either kernel.
std::uint64_t windows_of(const BatchGroup& g) {
    return g.count * GcmWindows::windows_of(g.length, g.aad_length);
}

void enqueue_pass(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    using G = GcmPass;
    const GcmPassShape& shape = bucket.one_pass.pass;
    const auto& weights = bucket.one_key->derived<GcmWeights>();
    Secret<GcmPassParams> p;
    set_batch(p->batch, bucket);
    p->rows = rows_of(shape);
    p->tiles = static_cast<std::uint32_t>(G::tiles_of(bucket.messages, shape.log_rows));
    const std::uint32_t after = positions_after(bucket);
    std::fill_n(p->powers, after, field_one);
    std::copy(weights.pass_powers[shape.log_rows], weights.pass_powers[shape.log_rows] + HashKey::count - after,
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

/// The order of messages under several keys.
bool precedes(const BatchGroup& a, const BatchGroup& b) {
    return a.key_number != b.key_number ? a.key_number < b.key_number : a.length > b.length;
}

/// Sorts the groups by key, and creates a run for each key.
void sort_runs(Bucket& bucket) {
    if (!std::is_sorted(bucket.groups.begin(), bucket.groups.end(), precedes)) {
        std::stable_sort(bucket.groups.begin(), bucket.groups.end(), precedes);
    }
    number_groups(bucket, windows_of);
    std::size_t runs = 0;
    for (std::size_t i = 0; i < bucket.groups.size(); ++i) {
        const BatchGroup& g = bucket.groups[i];
        if (i == 0 || g.key_number != bucket.groups[i - 1].key_number) {
            bucket.runs[runs++] = {.first = g.first_message,
                                   .messages = 0,
                                   .first_unit = g.first_unit,
                                   .first_tile = 0,
                                   .first_group = static_cast<std::uint32_t>(i),
                                   .groups = 0,
                                   .key = g.keys};
        }
        bucket.runs[runs - 1].messages += g.count;
        ++bucket.runs[runs - 1].groups;
    }
    bucket.runs = bucket.runs.first(runs);
    std::uint64_t tiles = 0;
    for (std::size_t i = 0; i < runs; ++i) {
        bucket.runs[i].first_tile = static_cast<std::uint32_t>(tiles);
        tiles += GcmPass::tiles_of(bucket.runs[i].messages, bucket.one_pass.pass.log_rows);
    }
}

/// The number of powers of H for each key.
constexpr std::size_t factors_of(Kernels kernels) {
    return kernels == Kernels::windows ? sizeof(GcmWindowWeights) / sizeof(FieldElement) : GcmPass::factors;
}

constexpr std::size_t bytes_of_sums(const Bucket& bucket) {
    return bucket.one_pass.kernels == Kernels::windows ? bucket.messages * (sizeof(uint4) + sizeof(WindowsSum)) : 0;
}

/// The bits of the greatest exponent of H that a pass uses.
std::uint32_t exponent_bits(const Bucket& bucket) {
    if (bucket.one_pass.kernels == Kernels::pass) {
        return static_cast<std::uint32_t>(std::bit_width(GcmPass::slots * (4u << bucket.one_pass.pass.log_rows)));
    }
    std::uint64_t windows = GcmWindows::chunk;
    for (const BatchGroup& g : bucket.groups) {
        windows = std::max(windows, GcmWindows::windows_of(g.length, g.aad_length));
    }
    return static_cast<std::uint32_t>(std::bit_width(windows * GcmWindows::window));
}

/// Enqueues a pass under several keys, whose round keys are parameters of the kernels.
void enqueue_under_keys(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    const GcmPassShape& shape = bucket.one_pass.pass;
    const bool windows = bucket.one_pass.kernels == Kernels::windows;
    auto* const factors = reinterpret_cast<FieldElement*>(bucket.scratch + bytes_of_sums(bucket));
    const auto run_count = static_cast<std::uint32_t>(bucket.runs.size());
    Secret<FewKeys> keys;
    Secret<RunFactorsParams> powers;
    for (std::size_t i = 0; i < bucket.runs.size(); ++i) {
        const ExpandedKey& key = *bucket.keys[bucket.groups[bucket.runs[i].first_group].key_number];
        copy_round_keys(keys->words[i], key, bucket.mode, bucket.direction);
        powers->inverses[i] = key.derived<GcmWeights>().inverse;
    }
    powers->runs = bucket.runs_on_device;
    powers->run_count = run_count;
    powers->count = static_cast<std::uint32_t>(factors_of(bucket.one_pass.kernels));
    powers->bits = exponent_bits(bucket);
    powers->windows = windows ? 1 : 0;
    powers->rows = rows_of(shape);
    powers->after = windows ? 0 : positions_after(bucket);
    powers->factors = factors;
    const LaunchShape factors_shape = GcmFactors::shape(run_count, powers->count);
    if (!windows) {
        launch(gcm_run_factors_kernel_for(), factors_shape, stream, *powers);
        GcmPassKeysParams p{};
        set_batch(p.batch, bucket);
        p.rows = rows_of(shape);
        const KeyRun& last = bucket.runs.back();
        p.tiles = last.first_tile + static_cast<std::uint32_t>(GcmPass::tiles_of(last.messages, shape.log_rows));
        p.run_count = run_count;
        p.runs = bucket.runs_on_device;
        p.factors = factors;
        const LaunchShape tiles = GcmPass::shape(device, p.tiles);
        p.tiles_at_once = GcmPass::tiles_at_once(p.tiles, shape.equal, tiles.grid);
        launch(Begin::early, gcm_pass_keys_kernel_for(bucket.rounds, bucket.direction), tiles, stream, p, *keys);
        return;
    }
    GcmWindowsKeysParams p{};
    set_batch(p.batch, bucket);
    p.pads = reinterpret_cast<uint4*>(bucket.scratch);
    p.sums = reinterpret_cast<WindowsSum*>(p.pads + bucket.messages);
    p.decrypts = bucket.direction == Direction::decrypt ? 1 : 0;
    p.run_count = run_count;
    p.runs = bucket.runs_on_device;
    p.weights = reinterpret_cast<const GcmWindowWeights*>(factors);
    check(cudaMemsetAsync(p.sums, 0, bucket.messages * sizeof(WindowsSum), stream), "clearing sums");
    launch(gcm_run_factors_kernel_for(), factors_shape, stream, *powers);
    launch(Begin::early, gcm_windows_keys_kernel_for(bucket.rounds, bucket.direction, bucket.one_pass.aligned),
           GcmWindows::shape(device, bucket.units), stream, p, *keys);
    launch(gcm_settle_windows_keys_kernel_for(),
           thread_each(device, 4 * bucket.messages, ThreadEach::threads, ThreadEach::blocks_each), stream, p);
}

}  // namespace

bool prepare_one_pass(Bucket& bucket, const DeviceLimits& device) {
    const bool one_key = bucket.one_key != nullptr;
    if (bucket.groups.empty() || (!one_key && bucket.keys.empty())) return false;
    const GcmPassWork work = work_of(bucket);
    if (!one_key && !GcmOnePass::sorts(work.blocks, bucket.groups.size()) &&
        !std::is_sorted(bucket.groups.begin(), bucket.groups.end(), precedes)) {
        return false;
    }
    bucket.one_pass = GcmOnePass::choose(device, work);
    if (bucket.one_pass.kernels == Kernels::several) return false;
    if (one_key) {
        sort_groups(bucket, [](const BatchGroup& g) { return g.length; });
        number_groups(bucket, windows_of);
    } else {
        sort_runs(bucket);
        bucket.scratch_bytes = bucket.runs.size() * factors_of(bucket.one_pass.kernels) * block_bytes;
    }
    bucket.scratch_bytes += bytes_of_sums(bucket);
    return true;
}

void enqueue_one_pass(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    if (bucket.one_key == nullptr) {
        enqueue_under_keys(bucket, device, stream);
    } else if (bucket.one_pass.kernels == Kernels::pass) {
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
