#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/threads.hpp"
#include "cuda/batch.hpp"
#include "cuda/batch_launch.hpp"
#include "cuda/batch_merge.hpp"
#include "cuda/kernels/batch_key_params.cuh"
#include "cuda/launch.hpp"

namespace warpaes::cuda {

namespace {

/// Keys of single messages that are expanded at a time: 256 MiB of slots.
constexpr std::uint64_t most_raw_keys = std::uint64_t{1} << 20;

/// Groups worth a thread to make them ready, and threads at most. On an H200's host (2026-11) one thread took 147 ns a
/// group, mostly waiting for memory.
struct BatchThreads {
    static constexpr std::size_t groups = 32768;
    static constexpr unsigned most = 8;
};

struct Family {
    void (*prepare)(Bucket&, const DeviceLimits&);
    void (*enqueue)(const Bucket&, const DeviceLimits&, cudaStream_t);
};

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

constexpr std::size_t aligned(std::size_t n) {
    return (n + 15) / 16 * 16;
}

/// One of the kinds of small things that messages have, where it lies in host memory: a section of the side buffer.
struct Section {
    std::size_t bytes = 0;  ///< surveyed
    std::size_t begin = 0;  ///< in the side buffer
    std::size_t at = 0;     ///< while it is being filled

    std::size_t take(std::size_t n) {
        const std::size_t here = at;
        at += aligned(n);
        return here;
    }
};

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

class Batch {
public:
    Batch(const BatchContext& context, BatchMemory& memory, MergedGroups groups)
        : context_(context), memory_(memory), groups_(std::move(groups)), data_(memory.data, context.device) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    /// What is not done by now has failed.
    ~Batch() {
        if (!done_) abandon();
    }

    /// The host's part before all others; of several batches at the same time.
    void get_ready() {
        survey();
        if (plans_.empty()) return;
        lay_out();
        fill();
        prepare();
    }
    void enqueue();
    void finish() {
        if (!plans_.empty()) {
            check(cudaEventSynchronize(memory_.done.get()), "waiting for the device");
            let_go(true);
            deliver();
            wipe_secrets();
        }
        done_ = true;
    }

private:
    static constexpr std::uint8_t no_bucket = 0xff;

    [[nodiscard]] bool is_here(const MemoryPlace& place) const {
        return place.kind == Memory::device && place.device == context_.device;
    }

    /// A kind of small things: where they lie, for group after group.
    struct Small {
        PlaceFinder places;
        Section section;
    };
    static std::uint64_t rows_of(const MessageGroup& g, const Elements& e) { return e.stride == 0 ? 1 : g.count; }

    bool in_host(Small& small, const MessageGroup& g, const Elements& e, std::uint64_t length) const {
        return length != 0 && g.count != 0 && e.first != nullptr && !is_here(small.places.of(e.first));
    }
    void survey(Small& small, const MessageGroup& g, const Elements& e, std::uint64_t length) const {
        if (in_host(small, g, e, length)) small.section.bytes += aligned(rows_of(g, e) * length);
    }
    /// Packs what lies in host memory into the side buffer; where it will lie on the device.
    Elements put(Small& small, const MessageGroup& g, const Elements& e, std::uint64_t length, bool copy = true) {
        if (!in_host(small, g, e, length)) return e;
        const std::uint64_t rows = rows_of(g, e);
        const std::size_t at = small.section.take(rows * length);
        std::uint8_t* const to = host_side() + at;
        if (copy) {
            if (rows == 1 || e.stride == length) {
                std::memcpy(to, e.first, rows * length);
            } else {
                for (std::uint64_t i = 0; i < rows; ++i) std::memcpy(to + i * length, e.at(i), length);
            }
        }
        return {device_side() + at, e.stride == 0 ? 0 : length};
    }

    BucketPlan& plan_for(const MessageGroup& g, std::uint8_t& index) {
        const int rounds = g.rounds();
        const bool is_long = (g.mode == Mode::ctr || g.mode == Mode::gcm) && g.length >= BatchCounters::least_long;
        const auto key =
            static_cast<std::size_t>((static_cast<int>(g.mode) * 2 + (g.direction == Direction::decrypt)) * 6 +
                                     (rounds - 10) + (is_long ? 1 : 0));
        if (bucket_numbers_[key] == no_bucket) {
            bucket_numbers_[key] = static_cast<std::uint8_t>(plans_.size());
            BucketPlan& plan = plans_.emplace_back();
            plan.bucket.mode = g.mode;
            plan.bucket.direction = g.direction;
            plan.bucket.rounds = rounds;
            plan.bucket.long_messages = is_long;
        }
        index = bucket_numbers_[key];
        return plans_[index];
    }

    void survey() {
        bucket_numbers_.fill(no_bucket);
        bucket_of_.assign(groups_.size(), no_bucket);
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const MessageGroup g = groups_[i];
            if (g.count == 0) continue;
            BucketPlan& plan = plan_for(g, bucket_of_[i]);
            ++plan.groups;
            survey_key(plan, g);
            data_.survey(i, g);
            survey(ivs_, g, g.iv, g.iv_length);
            survey(aads_, g, g.aad, g.aad_length);
            survey(tags_, g, g.tag, g.tag_length);
            if (g.key == nullptr) survey(raw_keys_, g, g.keys, g.key_bytes);
            if (reports(g)) failed_.bytes += aligned(g.count);
        }
    }

    static void survey_key(BucketPlan& plan, const MessageGroup& g) {
        if (g.key == nullptr) {
            plan.mixed = true;
            plan.raw_slots += rows_of(g, g.keys);
        } else {
            plan.mixed |= plan.keys.survey(g.key);
        }
        if (g.mode == Mode::xts) plan.mixed |= plan.tweak_keys.survey(g.tweak_key);
    }

    static bool reports(const MessageGroup& g) { return uses_tag(g.mode) && g.direction == Direction::decrypt; }

    /// Sections of the side buffer, and of the scratch memory the slots of keys. From `secret_` on the side buffer is
    /// wiped, from `back_` on it comes back.
    void lay_out() {
        std::size_t at = 0;
        const auto place = [&at](std::size_t bytes) {
            const std::size_t here = at;
            at += aligned(bytes);
            return here;
        };
        const auto place_section = [&](Section& section) { section.begin = section.at = place(section.bytes); };
        tickets_at_ = place(plans_.size() * bucket_tickets * sizeof(unsigned long long));
        for (BucketPlan& plan : plans_) {
            plan.descriptors_at = place(plan.groups * sizeof(BatchGroup));
            if (plan.bucket.mode == Mode::xts) plan.xts_at = place(plan.groups * sizeof(XtsPart));
        }
        place_section(ivs_.section);
        place_section(aads_.section);
        secret_ = at;
        for (BucketPlan& plan : plans_) {
            plan.slots = plan.mixed || needs_slots(plan.bucket.mode);
            if (!plan.slots) plan.keys.most = plan.tweak_keys.most = 0;
            for (Handles* h : {&plan.keys, &plan.tweak_keys}) {
                h->bytes_at = place(h->most * handle_stride);
                h->targets_at = place(h->most * sizeof(uint4*));
            }
        }
        place_section(raw_keys_.section);
        back_ = at;
        place_section(tags_.section);
        place_section(failed_);
        memory_.side.reserve(at);
        memory_.device_side.reserve(at);
        side_bytes_ = at;  // from here on there is something to wipe
        std::memset(host_side() + tickets_at_, 0, plans_.size() * bucket_tickets * sizeof(unsigned long long));
        std::memset(host_side() + failed_.begin, 0, failed_.bytes);

        std::uint64_t slots = 0;
        for (const BucketPlan& plan : plans_) {
            if (plan.slots) slots += plan.keys.most + plan.tweak_keys.most + plan.raw_slots;
        }
        if (slots != 0) memory_.slots.reserve(slots * key_slot_bytes);
        data_.reserve();
    }

    void fill() {
        std::uint8_t* slot = memory_.slots.get();
        const auto take = [&slot](std::uint64_t slots) {
            std::uint8_t* const here = slot;
            slot += slots * key_slot_bytes;
            return here;
        };
        for (BucketPlan& plan : plans_) {
            plan.bucket.groups = {reinterpret_cast<BatchGroup*>(host_side() + plan.descriptors_at), plan.groups};
            if (plan.bucket.mode == Mode::xts) {
                plan.bucket.xts = {reinterpret_cast<XtsPart*>(host_side() + plan.xts_at), plan.groups};
            }
            if (!plan.mixed) {
                plan.bucket.one_key = plan.keys.last;
                plan.bucket.one_tweak_key = plan.tweak_keys.last;
            }
            if (!plan.slots) continue;
            for (Handles* h : {&plan.keys, &plan.tweak_keys}) {
                h->own_slots = take(h->most);
                h->last = nullptr;
            }
            plan.raw_slots_at = reinterpret_cast<uint4*>(take(plan.raw_slots));
        }
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            if (bucket_of_[i] == no_bucket) continue;
            const MessageGroup g = groups_[i];
            BucketPlan& plan = plans_[bucket_of_[i]];
            BatchGroup& d = plan.bucket.groups[plan.filled];
            const BatchData::Placed placed = data_.place(i, g);
            const Elements iv = put(ivs_, g, g.iv, g.iv_length), aad = put(aads_, g, g.aad, g.aad_length);
            const Elements tag = put(tags_, g, g.tag, g.tag_length, g.direction == Direction::decrypt);
            d.input = placed.input;
            d.output = placed.output;
            d.iv = iv.first;
            d.aad = aad.first;
            d.tag = tag.first;
            d.keys = nullptr;
            d.failed = reports(g) ? device_side() + failed_.take(g.count) : nullptr;
            d.input_stride = placed.input_stride;
            d.output_stride = placed.output_stride;
            d.iv_stride = iv.stride;
            d.aad_stride = aad.stride;
            d.tag_stride = tag.stride;
            d.key_stride = 0;
            d.raw_keys = nullptr;
            d.raw_key_stride = 0;
            d.count = g.count;
            d.length = g.length;
            d.aad_length = g.aad_length;
            d.first_message = d.first_unit = 0;
            d.iv_length = g.iv_length;
            d.tag_length = g.tag_length;
            d.alignment =
                alignment_of(reinterpret_cast<std::uintptr_t>(d.input) | reinterpret_cast<std::uintptr_t>(d.output) |
                             (g.count > 1 ? d.input_stride | d.output_stride : 0));
            d.lanes = 0;
            if (plan.slots) fill_key(plan, g, d);
            if (g.mode == Mode::xts) {
                XtsPart& part = plan.bucket.xts[plan.filled];
                part = {};
                part.unit_bytes = g.data_unit;
                if (plan.slots) part.tweak_keys = slot_of(*g.tweak_key, plan.tweak_keys, false);
            }
            ++plan.filled;
        }
        data_.finish_placing();
    }

    void fill_key(BucketPlan& plan, const MessageGroup& g, BatchGroup& d) {
        if (g.key != nullptr) {
            d.keys = slot_of(*g.key, plan.keys, plan.inverse());
            return;
        }
        const Elements raw = put(raw_keys_, g, g.keys, g.key_bytes);
        d.raw_keys = raw.first;
        d.raw_key_stride = raw.stride;
        d.keys = plan.raw_slots_at + plan.raw_filled * key_slot_blocks;
        d.key_stride = g.keys.stride == 0 ? 0 : key_slot_blocks;
        plan.raw_filled += rows_of(g, g.keys);
    }

    uint4* slot_of(const ExpandedKey& key, Handles& handles, bool inverse) {
        if (&key == handles.last) return handles.last_slot;
        const auto [found, is_new] = handles.slots.try_emplace(&key, nullptr);
        if (is_new) {
            KeyTable::Held held;
            if (handles.most <= most_table_keys) held = context_.key_table.hold(key, inverse);
            if (held.number != KeyTable::none) held_.push_back(held);
            found->second = reinterpret_cast<uint4*>(held.number != KeyTable::none
                                                         ? context_.key_table.slot(held.number)
                                                         : handles.own_slots + handles.own++ * key_slot_bytes);
            if (held.number == KeyTable::none || held.empty) {
                std::copy(key.bytes().begin(), key.bytes().end(),
                          host_side() + handles.bytes_at + handles.fresh * handle_stride);
                reinterpret_cast<uint4**>(host_side() + handles.targets_at)[handles.fresh++] = found->second;
            }
        }
        handles.last = &key;
        return handles.last_slot = found->second;
    }

    void prepare() {
        std::size_t scratch = 0;
        for (BucketPlan& plan : plans_) {
            Bucket& bucket = plan.bucket;
            family_of(bucket.mode, bucket.direction).prepare(bucket, context_.limits);
            scratch += (bucket.scratch_bytes + 255) / 256 * 256;
        }
        std::uint8_t* const base = scratch == 0 ? nullptr : memory_.scratch.reserve(scratch);
        std::size_t at = 0;
        for (BucketPlan& plan : plans_) {
            Bucket& bucket = plan.bucket;
            bucket.scratch = base + at;
            at += (bucket.scratch_bytes + 255) / 256 * 256;
            const std::size_t number = static_cast<std::size_t>(&plan - plans_.data());
            bucket.tickets =
                reinterpret_cast<unsigned long long*>(device_side() + tickets_at_) + number * bucket_tickets;
            bucket.on_device = reinterpret_cast<const BatchGroup*>(device_side() + plan.descriptors_at);
            if (bucket.mode == Mode::xts) {
                bucket.xts_on_device = reinterpret_cast<const XtsPart*>(device_side() + plan.xts_at);
            }
        }
    }

    void enqueue_keys(const BucketPlan& plan) const {
        if (!plan.slots) return;
        const auto expand = [&](KeyParams p) {
            if (p.count == 0) return;
            constexpr std::uint64_t threads = 256;
            const std::uint64_t blocks = (p.count + threads - 1) / threads;
            const auto most = 3 * static_cast<std::uint64_t>(context_.limits.multiprocessors);
            launch(batch_keys_kernel_for(plan.bucket.rounds), static_cast<int>(std::min(blocks, most)),
                   static_cast<int>(threads), std::size_t{batch_keys_tables} * 32 * 1024, context_.stream, p);
        };
        const auto expand_handles = [&](const Handles& handles, bool inverse) {
            KeyParams p{};
            p.raw = device_side() + handles.bytes_at;
            p.raw_stride = handle_stride;
            p.targets = reinterpret_cast<uint4* const*>(device_side() + handles.targets_at);
            p.count = handles.fresh;
            p.inverse = inverse ? 1 : 0;
            p.hash_key = needs_slots(plan.bucket.mode) ? 1 : 0;
            expand(p);
        };
        expand_handles(plan.keys, plan.inverse());
        expand_handles(plan.tweak_keys, false);
        if (plan.raw_slots == 0) return;
        KeyParams p{};
        p.batch.groups = plan.bucket.on_device;
        p.batch.group_count = static_cast<std::uint32_t>(plan.bucket.groups.size());
        p.count = plan.bucket.messages;
        p.inverse = plan.inverse() ? 1 : 0;
        p.hash_key = needs_slots(plan.bucket.mode) ? 1 : 0;
        expand(p);
    }

    void enqueue(const BucketPlan& plan, cudaStream_t stream) const {
        family_of(plan.bucket.mode, plan.bucket.direction).enqueue(plan.bucket, context_.limits, stream);
    }

    /// Serial messages first, and beside all others: they keep a few multiprocessors busy for long.
    void enqueue_kernels() {
        std::size_t used = 0;
        const auto runs_beside = [this](const BucketPlan& plan) {
            return plans_.size() > 1 && !is_parallel(plan.bucket.mode, plan.bucket.direction);
        };
        for (const BucketPlan& plan : plans_) {
            if (!runs_beside(plan)) continue;
            auto& stream = memory_.beside[used % memory_.beside.size()];
            if (stream == nullptr) stream = std::make_unique<Stream>();
            if (used++ < memory_.beside.size()) memory_.event.order(context_.stream, stream->get());
            enqueue(plan, stream->get());
        }
        for (const BucketPlan& plan : plans_) {
            if (!runs_beside(plan)) enqueue(plan, context_.stream);
        }
        for (std::size_t i = 0; i < std::min(used, memory_.beside.size()); ++i) {
            memory_.event.order(memory_.beside[i]->get(), context_.stream);
        }
    }

    /// Outputs, tags and failures that are the host's.
    void deliver() {
        data_.scatter();
        if (tags_.section.bytes == 0 && failed_.bytes == 0) return;
        tags_.section.at = tags_.section.begin;
        failed_.at = failed_.begin;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const MessageGroup g = groups_[i];
            if (bucket_of_[i] == no_bucket || !uses_tag(g.mode)) continue;
            if (in_host(tags_, g, g.tag, g.tag_length)) {
                const std::uint8_t* const from = host_side() + tags_.section.take(rows_of(g, g.tag) * g.tag_length);
                for (std::uint64_t m = 0; g.direction == Direction::encrypt && m < g.count; ++m) {
                    std::memcpy(g.tag.at(m), from + m * g.tag_length, g.tag_length);
                }
            }
            if (!reports(g)) continue;
            const std::uint8_t* const failed = host_side() + failed_.take(g.count);
            for (std::uint64_t m = 0; g.failed != nullptr && m < g.count; ++m) {
                if (failed[m] != 0) g.failed[m] = 1;
            }
        }
    }

    void abandon() noexcept {
        // What was enqueued before the failure must not touch the buffers after it.
        for (const cudaStream_t s : {context_.queues.in.get(), context_.stream, context_.queues.out.get()}) {
            (void)cudaStreamSynchronize(s);
        }
        for (const auto& s : memory_.beside) {
            if (s != nullptr) (void)cudaStreamSynchronize(s->get());
        }
        wipe_secrets();
        let_go(false);
    }

    void let_go(bool done) noexcept {
        for (const KeyTable::Held& held : held_) context_.key_table.release(held, done);
        context_.key_table.wiped(wiped_, done);
    }

    /// Keys and tags on both sides, on the device in the order of the stream.
    void wipe_secrets() noexcept {
        if (side_bytes_ > secret_) {
            wipe({host_side() + secret_, side_bytes_ - secret_});
            (void)cudaMemsetAsync(device_side() + secret_, 0, side_bytes_ - secret_, context_.stream);
        }
        memory_.scratch.wipe(context_.stream);
        memory_.slots.wipe(context_.stream);
    }

    [[nodiscard]] std::uint8_t* host_side() const { return memory_.side.get(); }
    [[nodiscard]] std::uint8_t* device_side() const { return memory_.device_side.get(); }

    /// Below this a chunk is not worth the order of the queues.
    static constexpr std::uint64_t least_queued_bytes = std::uint64_t{1} << 20;
    /// Of the bytes of keys that have handles.
    static constexpr std::size_t handle_stride = 32;
    /// More keys than these would only push each other out.
    static constexpr std::size_t most_table_keys = KeyTable::capacity / 4;

    const BatchContext& context_;
    BatchMemory& memory_;
    MergedGroups groups_;
    BatchData data_;
    std::vector<BucketPlan> plans_;
    std::array<std::uint8_t, 12 * 2 * 6> bucket_numbers_{};
    std::vector<std::uint8_t> bucket_of_;
    Small ivs_, aads_, tags_, raw_keys_;
    Section failed_;
    std::size_t tickets_at_ = 0, secret_ = 0, back_ = 0, side_bytes_ = 0;
    std::vector<KeyTable::Held> held_;
    std::vector<std::uint32_t> wiped_;
    bool done_ = false;
};

void Batch::enqueue() {
    if (plans_.empty()) return;
    const cudaStream_t stream = context_.stream;
    const bool queued = std::max(data_.bytes_in(), data_.bytes_out()) >= least_queued_bytes;
    const cudaStream_t in = queued ? context_.queues.in.get() : stream,
                       out = queued ? context_.queues.out.get() : stream;
    {
        const auto lock = queued ? std::unique_lock(context_.queues.mutex) : std::unique_lock<std::mutex>();
        // The stream may still hold the wiping of what is written now.
        if (queued) memory_.event.order(stream, in);
        check(cudaMemcpyAsync(device_side(), host_side(), side_bytes_, cudaMemcpyHostToDevice, in),
              "copying to the device");
        data_.copy_in(in);
        if (queued) memory_.event.order(in, stream);
        wiped_ = context_.key_table.wipe_forgotten(stream);
        for (const BucketPlan& plan : plans_) enqueue_keys(plan);
        enqueue_kernels();
        if (queued) memory_.event.order(stream, out);
        data_.copy_out(out);
        if (side_bytes_ > back_) {
            check(cudaMemcpyAsync(host_side() + back_, device_side() + back_, side_bytes_ - back_,
                                  cudaMemcpyDeviceToHost, out),
                  "copying from the device");
        }
        check(cudaEventRecord(memory_.done.get(), out), "recording an event");
    }
}

/// Batches that each have their memory, one after the other on the lane's stream.
void run_parts(const BatchContext& context, std::vector<MergedGroups>& parts) {
    auto& others = context.memory.others;
    while (others.size() + 1 < parts.size()) others.push_back(std::make_unique<BatchMemory>());
    std::vector<std::unique_ptr<Batch>> batches(parts.size());
    on_threads(parts.size(), [&](std::size_t i) {
        const CurrentDevice current(context.device);
        BatchMemory& memory = i == 0 ? context.memory : *others[i - 1];
        batches[i] = std::make_unique<Batch>(context, memory, std::move(parts[i]));
        batches[i]->get_ready();
    });
    for (const auto& batch : batches) batch->enqueue();
    for (const auto& batch : batches) batch->finish();
}

/// Neighbouring messages merged; very many groups in a few parts.
std::vector<MergedGroups> merge(const BatchContext& context, std::span<const MessageGroup> groups) {
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, BatchThreads::most);
    const std::size_t parts = std::clamp<std::size_t>(groups.size() / BatchThreads::groups, 1, threads);
    std::vector<MergedGroups> merged(parts);
    on_threads(parts, [&](std::size_t i) {
        const CurrentDevice current(context.device);
        const std::size_t first = groups.size() * i / parts, end = groups.size() * (i + 1) / parts;
        merged[i] = MergedGroups(groups.subspan(first, end - first));
    });
    return merged;
}

}  // namespace

void BatchMemory::wipe(cudaStream_t stream) noexcept {
    data.wipe(stream);
    device_side.wipe(stream);
    scratch.wipe(stream);
    slots.wipe(stream);
    for (const auto& other : others) other->wipe(stream);
}

void BatchMemory::release() noexcept {
    data.release();
    side.release();
    device_side.release();
    scratch.release();
    slots.release();
    others.clear();
}

void run_batch(const BatchContext& context, std::span<const MessageGroup> groups) {
    std::vector<MergedGroups> parts = merge(context, groups);
    const auto raw_keys = [](const MessageGroup& g) {
        return g.key != nullptr ? 0 : g.keys.stride == 0 ? std::uint64_t{1} : g.count;
    };
    if (std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.raw_keys() <= most_raw_keys; })) {
        return run_parts(context, parts);
    }

    std::vector<MessageGroup> part;
    std::uint64_t in_part = 0;
    const auto run_part = [&] {
        std::vector<MergedGroups> one;
        one.emplace_back(part);
        run_parts(context, one);
        part.clear();
        in_part = 0;
    };
    for (const MessageGroup& g : groups) {
        if (raw_keys(g) <= 1) {
            part.push_back(g);
            in_part += raw_keys(g);
            if (in_part == most_raw_keys) run_part();
            continue;
        }
        for (std::uint64_t first = 0; first < g.count;) {
            const std::uint64_t n = std::min(g.count - first, most_raw_keys - in_part);
            part.push_back(g.slice(first, n));
            first += n;
            in_part += n;
            if (in_part == most_raw_keys) run_part();
        }
    }
    if (!part.empty()) run_part();
}

}  // namespace warpaes::cuda
