#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "cuda/batch_work.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/counters.hpp"
#include "cuda/tuning/ghash.hpp"
#include "cuda/tuning/host.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

/// Whether decryption of the group reports wrong tags.
bool reports(const MessageGroup& g) {
    return uses_tag(g.mode) && g.direction == Direction::decrypt;
}

bool has_runs(const BucketPlan& plan) {
    return plan.bucket.mode == Mode::gcm && plan.mixed;
}

constexpr std::size_t ticket_bytes = bucket_tickets * sizeof(unsigned long long);
constexpr std::size_t scratch_alignment = 256;

}  // namespace

void BatchSide::copy_in_by_kernel(const DeviceLimits& limits, cudaStream_t stream) const {
    if (flags_ > SideCopies::most_by_kernel) return copy_in(stream);
    const std::uint64_t blocks = flags_ / block_bytes;
    launch(side_kernel_for(), thread_each(limits, blocks, SideCopies::threads, SideCopies::blocks_each), stream,
           SideParams{reinterpret_cast<uint4*>(device()), reinterpret_cast<const uint4*>(host()), blocks});
}

BatchWork::BatchWork(const BatchContext& context, BatchMemory& memory, MergedGroups groups)
    : context_(context),
      memory_(memory),
      groups_(std::move(groups)),
      data_(memory.data, context.device, context.pool),
      side_(memory.side, memory.device_side),
      keys_(context.key_table, memory.slots, side_, context.device),
      ivs_(side_, context.device),
      aads_(side_, context.device),
      tags_(side_, context.device) {}

BatchWork::~BatchWork() {
    if (!done_) abandon();
}

void BatchWork::get_ready() {
    survey();
    if (plans_.empty()) return;
    lay_out();
    fill();
    prepare();
}

void BatchWork::finish() {
    if (!plans_.empty()) {
        check(cudaEventSynchronize(memory_.done.get()), "waiting for the device");
        keys_.let_go(true);
        deliver();
        wipe_secrets();
    }
    done_ = true;
}

bool BatchWork::enqueue_and_leave() {
    bool secret = false;
    if (!plans_.empty()) {
        side_.copy_in_by_kernel(context_.limits, context_.stream);
        keys_.enqueue(plans_, context_.limits, context_.stream);
        enqueue_kernels();
        for (const BucketPlan& plan : plans_) {
            if (plan.tells) tell(plan.bucket);
        }
        secret = side_.holds_keys();
        wipe_device_secrets();
        check(cudaEventRecord(memory_.done.get(), context_.stream), "recording an event");
    }
    done_ = true;
    return secret;
}

void BatchWork::tell(const Bucket& bucket) const {
    launch(statuses_kernel_for(),
           thread_each(context_.limits, bucket.messages, ThreadEach::threads, ThreadEach::blocks_each), context_.stream,
           StatusParams{bucket.on_device, static_cast<std::uint32_t>(bucket.groups.size()),
                        WARPAES_ERROR_AUTHENTICATION, bucket.messages});
}

BucketPlan& BatchWork::plan_for(const MessageGroup& g, std::uint8_t& index) {
    const int rounds = g.rounds();
    const bool is_long =
        (g.mode == Mode::ctr || g.mode == Mode::gcm) && BatchCounters::is_long(context_.limits, g.length);
    const bool fits_one_pass = g.mode == Mode::gcm && GcmPass::is_possible(context_.limits) &&
                               GcmOnePass::fits(g.length, g.aad_length, g.iv_length);
    const auto key = static_cast<std::size_t>((static_cast<int>(g.mode) * 2 + (g.direction == Direction::decrypt)) *
                                                  kinds_of_bucket +
                                              2 * (rounds - 10) + (is_long ? 2 : 0) + (fits_one_pass ? 1 : 0));
    if (bucket_numbers_[key] == no_bucket) {
        bucket_numbers_[key] = static_cast<std::uint8_t>(plans_.size());
        BucketPlan& plan = plans_.emplace_back();
        plan.bucket.mode = g.mode;
        plan.bucket.direction = g.direction;
        plan.bucket.rounds = rounds;
        plan.bucket.long_messages = is_long;
        plan.bucket.fits_one_pass = fits_one_pass;
    }
    index = bucket_numbers_[key];
    return plans_[index];
}

void BatchWork::survey() {
    bucket_numbers_.fill(no_bucket);
    bucket_of_.assign(groups_.size(), no_bucket);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const MessageGroup g = groups_[i];
        if (g.count == 0) continue;
        BucketPlan& plan = plan_for(g, bucket_of_[i]);
        ++plan.groups;
        plan.tells = plan.tells || g.statuses != nullptr;
        data_.survey(i, g);
        ivs_.survey(g, g.iv, g.iv_length);
        aads_.survey(g, g.aad, g.aad_length);
        tags_.survey(g, g.tag, g.tag_length);
        keys_.survey(plan, g);
        if (reports(g)) failed_.survey(g.count);
    }
}

/// Places the sections of the side buffer: first the sections that are not secret, then the secret sections, then the
/// secret sections to copy back. Also reserves all other memory.
void BatchWork::lay_out() {
    tickets_at_ = side_.place(plans_.size() * ticket_bytes);
    for (BucketPlan& plan : plans_) {
        plan.descriptors_at = side_.place(plan.groups * sizeof(BatchGroup));
        if (plan.bucket.mode == Mode::xts) plan.xts_at = side_.place(plan.groups * sizeof(XtsPart));
        if (has_runs(plan)) plan.runs_at = side_.place(plan.groups * sizeof(KeyRun));
    }
    ivs_.place();
    aads_.place();
    side_.begin_secret();
    keys_.place(plans_);
    side_.begin_back();
    tags_.place();
    if (failed_.bytes != 0) any_failed_at_ = side_.place(sizeof(std::uint32_t));
    side_.begin_flags();
    side_.place(failed_);
    side_.reserve();
    std::memset(side_.host() + tickets_at_, 0, plans_.size() * ticket_bytes);
    if (failed_.bytes != 0) std::memset(side_.host() + any_failed_at_, 0, sizeof(std::uint32_t));
    keys_.reserve(plans_);
    data_.reserve();
}

void BatchWork::fill() {
    auto* tickets = reinterpret_cast<unsigned long long*>(side_.device() + tickets_at_);
    for (BucketPlan& plan : plans_) {
        Bucket& bucket = plan.bucket;
        bucket.tickets = tickets;
        tickets += bucket_tickets;
        bucket.groups = {reinterpret_cast<BatchGroup*>(side_.host() + plan.descriptors_at), plan.groups};
        bucket.on_device = reinterpret_cast<const BatchGroup*>(side_.device() + plan.descriptors_at);
        if (has_runs(plan)) {
            bucket.runs = {reinterpret_cast<KeyRun*>(side_.host() + plan.runs_at), plan.groups};
            bucket.runs_on_device = reinterpret_cast<const KeyRun*>(side_.device() + plan.runs_at);
        }
        if (bucket.mode != Mode::xts) continue;
        bucket.xts = {reinterpret_cast<XtsPart*>(side_.host() + plan.xts_at), plan.groups};
        bucket.xts_on_device = reinterpret_cast<const XtsPart*>(side_.device() + plan.xts_at);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (bucket_of_[i] != no_bucket) fill(plans_[bucket_of_[i]], i, groups_[i]);
    }
    BatchKeys::finish_filling(plans_);
    data_.finish_placing();
}

/// Fills the next descriptor of a bucket, for group `index` of the batch.
void BatchWork::fill(BucketPlan& plan, std::size_t index, const MessageGroup& g) {
    BatchGroup& d = plan.bucket.groups[plan.filled];
    const BatchData::Placed placed = data_.place(index, g);
    const Elements iv = ivs_.put(g, g.iv, g.iv_length), aad = aads_.put(g, g.aad, g.aad_length);
    const Elements tag = tags_.put(g, g.tag, g.tag_length, g.direction == Direction::decrypt);
    d = {};
    d.input = placed.input;
    d.output = placed.output;
    d.iv = iv.first;
    d.aad = aad.first;
    d.tag = tag.first;
    d.failed = reports(g) ? side_.device() + failed_.take(g.count) : nullptr;
    d.any_failed = reports(g) ? reinterpret_cast<std::uint32_t*>(side_.device() + any_failed_at_) : nullptr;
    d.statuses = g.statuses;
    d.input_stride = placed.input_stride;
    d.output_stride = placed.output_stride;
    d.iv_stride = iv.stride;
    d.aad_stride = aad.stride;
    d.tag_stride = tag.stride;
    d.count = g.count;
    d.length = kernel_length(g.mode, g.length, g.unused_bits);
    d.aad_length = g.aad_length;
    d.iv_length = static_cast<std::uint32_t>(g.iv_length);
    d.tag_length = static_cast<std::uint32_t>(g.tag_length);
    const std::uint32_t alignment =
        alignment_of(reinterpret_cast<std::uintptr_t>(d.input) | reinterpret_cast<std::uintptr_t>(d.output) |
                     (g.count > 1 ? d.input_stride | d.output_stride : 0));
    d.alignment = static_cast<std::uint16_t>(alignment);
    keys_.fill(plan, g, d);
    if (g.mode == Mode::xts) {
        XtsPart& part = plan.bucket.xts[plan.filled];
        part = {};
        part.unit_bytes = g.data_units.bytes;
        part.unit_step = static_cast<std::uint32_t>(g.data_units.step);
        part.tweak_keys = keys_.tweak_slot(plan, g);
    }
    ++plan.filled;
}

void BatchWork::prepare() {
    std::size_t scratch = 0;
    for (BucketPlan& plan : plans_) {
        Bucket& bucket = plan.bucket;
        family_of(bucket.mode, bucket.direction).prepare(bucket, context_.limits);
        scratch += rounded_up(bucket.scratch_bytes, scratch_alignment);
    }
    std::uint8_t* at = scratch == 0 ? nullptr : memory_.scratch.reserve(scratch);
    for (BucketPlan& plan : plans_) {
        plan.bucket.scratch = at;
        at += rounded_up(plan.bucket.scratch_bytes, scratch_alignment);
    }
}

void BatchWork::enqueue() {
    if (plans_.empty()) return;
    const cudaStream_t stream = context_.stream;
    const CopyOrder copies(context_.queues, stream, std::max(data_.bytes_in(), data_.bytes_out()));
    // The stream may not have finished wiping the memory that is written here.
    memory_.event.order(stream, copies.in);
    side_.copy_in(copies.in);
    data_.copy_in(copies.in);
    memory_.event.order(copies.in, stream);
    keys_.enqueue(plans_, context_.limits, stream);
    enqueue_kernels();
    memory_.event.order(stream, copies.out);
    data_.copy_out(copies.out);
    side_.copy_out(copies.out);
    check(cudaEventRecord(memory_.done.get(), copies.out), "recording an event");
}

/// Serial messages are enqueued first, on separate streams: they occupy a few multiprocessors for a long time, while
/// all other messages run.
void BatchWork::enqueue_kernels() {
    kernels_began_ = true;
    const auto enqueue = [this](const Bucket& bucket, cudaStream_t stream) {
        family_of(bucket.mode, bucket.direction).enqueue(bucket, context_.limits, stream);
    };
    const auto runs_beside = [this](const BucketPlan& plan) {
        return plans_.size() > 1 && !is_parallel(plan.bucket.mode, plan.bucket.direction);
    };
    std::size_t used = 0;
    for (const BucketPlan& plan : plans_) {
        if (!runs_beside(plan)) continue;
        auto& stream = memory_.beside[used % memory_.beside.size()];
        if (stream == nullptr) stream = std::make_unique<Stream>();
        if (used++ < memory_.beside.size()) memory_.event.order(context_.stream, stream->get());
        enqueue(plan.bucket, stream->get());
    }
    for (const BucketPlan& plan : plans_) {
        if (!runs_beside(plan)) enqueue(plan.bucket, context_.stream);
    }
    for (std::size_t i = 0; i < std::min(used, memory_.beside.size()); ++i) {
        memory_.event.order(memory_.beside[i]->get(), context_.stream);
    }
}

/// Copies outputs, tags and failures to their destinations in host memory.
void BatchWork::deliver() {
    data_.scatter();
    std::uint32_t any_failed = 0;
    if (failed_.bytes != 0) std::memcpy(&any_failed, side_.host() + any_failed_at_, sizeof any_failed);
    if (any_failed != 0) {
        side_.copy_flags(context_.stream);
        check(cudaStreamSynchronize(context_.stream), "waiting for the device");
    }
    if (!tags_.any() && any_failed == 0) return;
    tags_.rewind();
    failed_.rewind();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const MessageGroup g = groups_[i];
        if (bucket_of_[i] == no_bucket || !uses_tag(g.mode)) continue;
        const std::uint8_t* const tags = tags_.next(g, g.tag, g.tag_length);
        if (tags != nullptr && g.direction == Direction::encrypt) {
            copy_rows(g.tag.first, g.tag.stride, tags, g.tag_length, g.tag_length, g.count);
        }
        if (!reports(g)) continue;
        const std::uint8_t* const failed = side_.host() + failed_.take(g.count);
        if (any_failed == 0 || g.failed == nullptr) continue;
        const auto count = static_cast<std::size_t>(g.count);
        for (std::size_t m = 0; m < count; ++m) g.failed[m] = failed[m] != 0 ? std::uint8_t{1} : g.failed[m];
    }
}

void BatchWork::abandon() noexcept {
    context_.queues.wait(context_.stream);
    for (const auto& s : memory_.beside) {
        if (s != nullptr) try_to(cudaStreamSynchronize(s->get()));
    }
    if (kernels_began_) wipe_texts();
    wipe_secrets();
    keys_.let_go(false);
}

/// Wipes decrypted texts and waits for the device, because the host may process the messages again as soon as this
/// function returns.
void BatchWork::wipe_texts() noexcept {
    for (const BucketPlan& plan : plans_) {
        if (!uses_tag(plan.bucket.mode) || plan.bucket.direction == Direction::encrypt) continue;
        for (const BatchGroup& g : plan.bucket.groups) {
            try {
                if (g.output != nullptr) {
                    enqueue_wipe({g.output, g.output_stride, g.length, g.count, nullptr}, context_.limits,
                                 context_.stream);
                }
            } catch (...) {
                // The device has failed, and its memory is lost.
            }
        }
    }
    try_to(cudaStreamSynchronize(context_.stream));
}

/// Wipes keys and tags.
void BatchWork::wipe_secrets() noexcept {
    side_.wipe_host();
    wipe_device_secrets();
}

/// Wipes keys and tags on the device, in stream order.
void BatchWork::wipe_device_secrets() noexcept {
    side_.wipe_device(context_.stream);
    memory_.scratch.wipe(context_.stream);
    memory_.slots.wipe(context_.stream);
}

}  // namespace warpaes::cuda
