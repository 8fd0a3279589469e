// Batches of all modes except GCM. In some modes, a message can be cut anywhere: ECB, CBC and CFB128 decryption, CTR,
// XTS, and, at byte boundaries, CFB8 and CFB1 decryption. In the other modes, each block depends on the previous block.
#include <algorithm>
#include <array>

#include "cuda/batch_launch.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/counters.hpp"
#include "cuda/tuning/serial.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

std::uint64_t blocks_with_partial(const BatchGroup& g) {
    return g.length / block_bytes + (g.length % block_bytes != 0);
}

LaunchShape shape_for(const DeviceLimits& device, std::uint64_t units_of_threads) {
    return launch_shape(device, (units_of_threads + 31) / 32);
}

Secret<FewKeys> few_keys_of(const Bucket& bucket) {
    Secret<FewKeys> keys;
    for (std::size_t i = 0; i < bucket.few_keys.size(); ++i) {
        copy_round_keys(keys->words[i], *bucket.few_keys[i], bucket.mode, bucket.direction);
    }
    return keys;
}

/// Computes the data units of a message and the other parameters of the XTS kernel.
XtsPart xts_part(const BatchGroup& g, const XtsPart& of_group) {
    XtsPart part = of_group;
    part.unit_bytes = std::max<std::uint64_t>(std::min(part.unit_bytes, g.length), block_bytes);
    part.unit_blocks = static_cast<std::uint32_t>(part.unit_bytes / block_bytes);
    const std::uint64_t last = g.length % part.unit_bytes, whole = g.length / part.unit_bytes;
    part.message_units = static_cast<std::uint32_t>(whole + (last != 0));
    part.blocks = whole * part.unit_blocks + last / block_bytes;
    return part;
}

void enqueue_xts_batch(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    Secret<BatchXtsParams> p;
    set_batch(p->batch, bucket);
    p->parts = bucket.xts_on_device;
    p->tweaks = reinterpret_cast<uint4*>(bucket.scratch);
    p->tweak_count = bucket.scratch_bytes / block_bytes;
    const bool one_tweak_key = bucket.one_tweak_key != nullptr;
    if (one_tweak_key) copy_round_keys(p->tweak_keys, *bucket.one_tweak_key, bucket.mode, Direction::encrypt);
    if (bucket.units == 0) return;
    const LaunchShape tweaks = shape_for(device, p->tweak_count),
                      shape = BatchBlocks::shape(device, bucket.keys_are_parameters(), bucket.units);
    launch(batch_tweaks_kernel_for(bucket.rounds, tweaks.tables, one_tweak_key), tweaks, stream, *p);
    if (!bucket.few_keys.empty()) {
        launch(batch_xts_few_kernel_for(bucket.direction, bucket.rounds, shape.tables), shape, stream, *p,
               *few_keys_of(bucket));
        return;
    }
    launch(batch_xts_kernel_for(bucket.direction, bucket.rounds, shape.tables, bucket.one_key != nullptr), shape,
           stream, *p);
}

}  // namespace

void set_batch(BatchParams& p, const Bucket& bucket) {
    p.groups = bucket.on_device;
    p.group_count = static_cast<std::uint32_t>(bucket.groups.size());
    p.one_key = bucket.one_key != nullptr ? 1 : 0;
    p.messages = bucket.messages;
    p.units = bucket.units;
    p.ticket = bucket.tickets;
    if (bucket.one_key != nullptr) copy_round_keys(p.round_keys, *bucket.one_key, bucket.mode, bucket.direction);
}

namespace {

/// For ECB, CBC and CFB128 decryption, and XTS.
void prepare_blocks(Bucket& bucket, const DeviceLimits& device) {
    if (bucket.mode == Mode::xts) {
        std::uint64_t tweaks = 0;
        for (std::size_t i = 0; i < bucket.groups.size(); ++i) {
            XtsPart& part = bucket.xts[i] = xts_part(bucket.groups[i], bucket.xts[i]);
            part.first_tweak = tweaks;
            tweaks += part.message_units * bucket.groups[i].count;
        }
        std::size_t next = 0;
        number_groups(bucket, [&](const BatchGroup& g) { return g.count * bucket.xts[next++].blocks; });
        bucket.scratch_bytes = tweaks * block_bytes;
        return;
    }
    number_groups(bucket, [](const BatchGroup& g) { return g.count * blocks_with_partial(g); });
    const bool in_place = std::any_of(bucket.groups.begin(), bucket.groups.end(),
                                      [](const BatchGroup& g) { return g.input == g.output; });
    if (in_place && chains_on_ciphertext(bucket.mode, bucket.direction)) {
        const LaunchShape shape = BatchBlocks::shape(device, bucket.keys_are_parameters(), bucket.units);
        bucket.scratch_bytes = shape.warps() * block_bytes;
    }
}

void enqueue_blocks(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    if (bucket.mode == Mode::xts) return enqueue_xts_batch(bucket, device, stream);
    if (bucket.units == 0) return;
    Secret<BlockParams> p;
    set_batch(p->batch, bucket);
    const LaunchShape shape = BatchBlocks::shape(device, bucket.keys_are_parameters(), bucket.units);
    if (bucket.scratch_bytes != 0) {
        p->boundaries = reinterpret_cast<uint4*>(bucket.scratch);
        launch(batch_boundaries_kernel(),
               thread_each(device, shape.warps(), ThreadEach::threads, ThreadEach::blocks_each), stream, *p,
               shape.warps());
    }
    if (!bucket.few_keys.empty()) {
        launch(batch_blocks_few_kernel_for(bucket.mode, bucket.direction, bucket.rounds, shape.tables), shape, stream,
               *p, *few_keys_of(bucket));
        return;
    }
    launch(
        batch_blocks_kernel_for(bucket.mode, bucket.direction, bucket.rounds, shape.tables, bucket.one_key != nullptr),
        shape, stream, *p);
}

/// Returns the number of tasks. `pads` means that E(J0) is required.
std::uint64_t counter_tasks(const Bucket& bucket, bool pads) {
    if (bucket.long_messages) return bucket.units;
    return (bucket.units + 31) / 32 + (pads ? (bucket.messages + 31) / 32 : 0);
}

}  // namespace

void prepare_counters(Bucket& bucket, const DeviceLimits& device) {
    if (bucket.long_messages) {
        std::uint64_t windows = 0;
        for (const BatchGroup& g : bucket.groups) windows += g.count * (g.length / (16 * CounterParams::window) + 1);
        const std::uint32_t at_once = BatchCounters::windows_at_once(device, windows);
        bucket.at_once = at_once;
        number_groups(bucket,
                      [&](const BatchGroup& g) { return g.count * CounterParams::tasks_of(g.length, at_once); });
        return;
    }
    // If there are very many groups, most of them are single messages, so the results for single messages are cached by
    // length.
    constexpr std::uint64_t alone = ~std::uint64_t{0};
    constexpr std::uint32_t unknown = 0xff;
    std::array<std::uint8_t, BatchCounters::most_short / block_bytes + 2> lanes_alone;
    lanes_alone.fill(unknown);
    for (BatchGroup& g : bucket.groups) {
        const auto blocks = static_cast<std::uint32_t>(blocks_with_partial(g));
        const auto lanes_for = [&](std::uint64_t distance) {
            return BatchCounters::log_lanes(blocks, distance, bucket.keys_are_parameters());
        };
        if (g.count > 1) {
            g.lanes = static_cast<std::uint8_t>(lanes_for(std::max(g.input_stride, g.output_stride)));
            continue;
        }
        if (lanes_alone[blocks] == unknown) lanes_alone[blocks] = static_cast<std::uint8_t>(lanes_for(alone));
        g.lanes = lanes_alone[blocks];
    }
    number_groups(bucket, [&](const BatchGroup& g) { return g.length != 0 ? g.count << g.lanes : std::uint64_t{0}; });
    bucket.at_once = BatchCounters::steps_at_once(device, counter_tasks(bucket, bucket.mode == Mode::gcm));
}

void enqueue_counters(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream, uint4* pads) {
    const std::uint64_t tasks = counter_tasks(bucket, pads != nullptr);
    if (tasks == 0) return;
    Secret<CounterParams> p;
    set_batch(p->batch, bucket);
    p->gcm = bucket.mode == Mode::gcm ? 1 : 0;
    p->at_once = bucket.at_once;
    p->pads = pads;
    const LaunchShape shape = launch_shape(device, tasks, BatchCounters::threads(device, bucket.keys_are_parameters()));
    if (!bucket.few_keys.empty()) {
        launch(batch_ctr_few_kernel_for(bucket.rounds, shape.tables, bucket.long_messages), shape, stream, *p,
               *few_keys_of(bucket));
        return;
    }
    launch(batch_ctr_kernel_for(bucket.rounds, shape.tables, bucket.one_key != nullptr, bucket.long_messages), shape,
           stream, *p);
}

namespace {

/// For CFB8 and CFB1 decryption.
void prepare_segments(Bucket& bucket, const DeviceLimits&) {
    const bool bits = bucket.mode == Mode::cfb1;
    number_groups(bucket, [&](const BatchGroup& g) { return g.count * (bits ? (g.length + 7) / 8 : g.length); });
    bucket.scratch_bytes = bucket.units;
}

void enqueue_segments(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    if (bucket.units == 0) return;
    Secret<SegmentParams> p;
    set_batch(p->batch, bucket);
    p->ciphertext = bucket.scratch;
    p->bits = bucket.mode == Mode::cfb1 ? 1 : 0;
    const LaunchShape shape = shape_for(device, bucket.units);
    launch(batch_copy_kernel_for(), {shape.grid, ThreadEach::threads}, stream, *p);
    launch(batch_segments_kernel_for(bucket.mode, bucket.rounds, shape.tables, bucket.one_key != nullptr), shape,
           stream, *p);
}

/// For CBC, CFB128, CFB8 and CFB1 encryption, OFB, and CMAC and CCM with their tags. All messages are processed in one
/// kernel, longest first.
void prepare_serial(Bucket& bucket, const DeviceLimits&) {
    sort_groups(bucket, [](const BatchGroup& g) { return g.length + g.aad_length; });
    number_groups(bucket, [](const BatchGroup&) { return std::uint64_t{0}; });
}

void enqueue_serial(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    const SerialBatchShape shape = serial_batch_shape(device, bucket.messages);
    Secret<SerialParams> p;
    set_batch(p->batch, bucket);
    p->warps = static_cast<std::uint32_t>(shape.warps);
    p->staged = shape.staged ? 1 : 0;
    p->decrypts = bucket.direction == Direction::decrypt ? 1 : 0;
    launch(serial_batch_kernel_for(bucket.mode, bucket.rounds, shape.tables), shape, stream, *p);
}

}  // namespace

Family family_of(Mode mode, Direction direction) {
    if (mode == Mode::ctr) {
        return {&prepare_counters, [](const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
                    enqueue_counters(bucket, device, stream);
                }};
    }
    if (mode == Mode::gcm) return {&prepare_gcm, &enqueue_gcm};
    if (!is_parallel(mode, direction)) return {&prepare_serial, &enqueue_serial};
    if (mode == Mode::cfb8 || mode == Mode::cfb1) return {&prepare_segments, &enqueue_segments};
    return {&prepare_blocks, &enqueue_blocks};
}

}  // namespace warpaes::cuda
