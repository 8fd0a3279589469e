// Batches of GCM: the key stream, GHASH and tags.
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "cuda/batch_launch.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/ghash.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

bool has_other_ivs(const Bucket& bucket) {
    return std::any_of(bucket.groups.begin(), bucket.groups.end(),
                       [](const BatchGroup& g) { return g.iv_length != 12; });
}

/// How GHASH processes a message.
enum class Way {
    short_messages,
    rows,           ///< messages under one key or a few keys, on tensor cores: each message is a row
    pieces,         ///< long messages, with carry-less products
    under_keys,     ///< on tensor cores, with powers of H computed for every message
    under_one_key,  ///< on tensor cores, with the kernels for a single message
};

/// Whether the messages of the group share a key and GHASH can process each of them as a row (Way::rows).
bool may_be_rows(const BatchGroup& g) {
    return (g.raw_keys == nullptr || (g.key_stride == 0 && g.count > 1)) && GcmRows::fits(g.length, g.aad_length);
}

/// The order of messages in a run, and the order of runs.
bool precedes(const BatchGroup& a, const BatchGroup& b) {
    return a.keys != b.keys ? std::less<>()(a.keys, b.keys) : a.length > b.length;
}

/// Sorts the groups: first the groups that are hashed as rows under several keys, by key, then all other groups,
/// longest first. Creates the runs of the first part.
void sort_by_key(Bucket& bucket, const DeviceLimits& device) {
    std::uint64_t messages = 0;
    for (const BatchGroup& g : bucket.groups) messages += g.count;
    const bool in_order = std::all_of(bucket.groups.begin(), bucket.groups.end(), may_be_rows) &&
                          std::is_sorted(bucket.groups.begin(), bucket.groups.end(), precedes);
    if (bucket.runs.empty() || !GcmRows::takes_keys(device, messages) ||
        !(in_order || GcmRows::sorts(messages, bucket.groups.size()))) {
        return sort_groups(bucket, [](const BatchGroup& g) { return g.length; });
    }
    const std::vector<BatchGroup> groups(bucket.groups.begin(), bucket.groups.end());
    std::vector<std::uint32_t> order(groups.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rest =
        std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) { return may_be_rows(groups[i]); });
    if (!in_order) {
        std::stable_sort(order.begin(), rest,
                         [&](std::uint32_t a, std::uint32_t b) { return precedes(groups[a], groups[b]); });
    }
    // Keys with few messages come last, together with messages that cannot be rows.
    std::vector<std::uint32_t> others(rest, order.end());
    std::uint64_t first = 0, tiles = 0;
    std::size_t runs = 0, placed = 0;
    for (auto begin = order.begin(), end = begin; begin != rest; begin = end) {
        std::uint64_t of_key = 0;
        for (; end != rest && groups[*end].keys == groups[*begin].keys; ++end) of_key += groups[*end].count;
        if (of_key < GcmRows::least_of_key) {
            others.insert(others.end(), begin, end);
            continue;
        }
        bucket.runs[runs++] = {.first = first,
                               .messages = of_key,
                               .first_tile = static_cast<std::uint32_t>(tiles),
                               .key = groups[*begin].keys};
        first += of_key;
        tiles += GcmRows::tiles_of(of_key);
        for (auto i = begin; i != end; ++i) bucket.groups[placed++] = groups[*i];
    }
    std::stable_sort(others.begin(), others.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return groups[a].length > groups[b].length; });
    bucket.runs = bucket.runs.first(runs);
    bucket.run_groups = placed;
    for (const std::uint32_t i : others) bucket.groups[placed++] = groups[i];
}

Way way_of(const Bucket& bucket, const BatchGroup& g, const DeviceLimits& device) {
    const std::uint64_t stride = bucket.direction == Direction::decrypt ? g.input_stride : g.output_stride;
    // If many messages are at unequal distances, separate launches for them take too long unless the messages are very
    // long.
    const bool worth_launches =
        g.count > 1 ? stride >= g.length : bucket.groups.size() == 1 || g.length >= GcmBatch::least_alone;
    const bool alone = bucket.one_key != nullptr && g.aad_length <= GcmBatch::most_aad &&
                       g.length >= GcmBatch::least_long && g.count * g.length >= GcmBatch::least_bytes &&
                       worth_launches;
    if (alone) return Way::under_one_key;
    if (bucket.one_key != nullptr && GcmRows::takes(device, bucket.messages, g.length, g.aad_length)) return Way::rows;
    if (g.aad_length <= GcmBatch::most_aad && GhashKeys::takes(device, g.length)) return Way::under_keys;
    return blocks_of(g.length) > 2 * GcmBatchParams::piece_blocks ? Way::pieces : Way::short_messages;
}

/// Adjacent groups that GHASH processes together.
struct GroupRun {
    Way way;
    std::size_t first, end;         ///< groups
    std::uint64_t from, to;         ///< message numbers
    std::uint64_t longest, blocks;  ///< whole blocks of the longest text, and blocks of the longest row
    std::uint64_t edges;            ///< maximum number of a row's blocks that are not whole blocks of text
    bool aligned;                   ///< whether all messages are aligned to 16 bytes
};

/// Groups of long messages are processed together only if the shortest is at least half as long as the longest, because
/// all of them are hashed as if they had the same number of blocks.
template <typename F>
void for_each_run(const Bucket& bucket, const DeviceLimits& device, const F& f) {
    for (std::size_t group = 0; group < bucket.groups.size();) {
        const BatchGroup& first = bucket.groups[group];
        const bool keyed = group < bucket.run_groups;
        GroupRun run{
            keyed ? Way::rows : way_of(bucket, first, device), group, group, first.first_message, 0, 0, 0, 0, true};
        for (; run.end < (keyed ? bucket.run_groups : bucket.groups.size()); ++run.end) {
            const BatchGroup& next = bucket.groups[run.end];
            if (run.end != group && !keyed) {
                if (run.way == Way::under_one_key || way_of(bucket, next, device) != run.way) break;
                const bool any_length = run.way == Way::short_messages || run.way == Way::rows;
                if (!any_length && next.length < first.length / 2) break;
            }
            run.longest = std::max(run.longest, next.length / block_bytes);
            run.blocks = std::max(run.blocks, blocks_of(next.aad_length) + blocks_of(next.length) + 1);
            run.edges = std::max(run.edges, blocks_of(next.aad_length) + (next.length % block_bytes != 0 ? 2 : 1));
            run.aligned = run.aligned && next.alignment == 16;
        }
        group = run.end;
        run.to = group == bucket.groups.size() ? bucket.messages : bucket.groups[group].first_message;
        f(run);
    }
}

/// Returns the bytes of scratch memory per message, for a run of Way::under_keys.
std::size_t message_bytes(const GroupRun& run, const DeviceLimits& device) {
    const GhashKeysShape shape = ghash_keys_shape(device, run.to - run.from, run.longest);
    return GhashKeys::message_bytes(shape.rows, shape.row_blocks);
}

/// Offsets in the bucket's scratch memory.
struct Scratch {
    Scratch(const Bucket& bucket, const DeviceLimits& device) {
        const std::size_t of_messages = bucket.messages * block_bytes;
        pads = 0;
        digests = of_messages;
        j0s = 2 * of_messages;
        rewritten = j0s + (has_other_ivs(bucket) ? of_messages : 0);
        under_keys = rewritten + (has_other_ivs(bucket) ? bucket.groups.size() * sizeof(BatchGroup) : 0);
        powers = under_keys;
        under_keys += bucket.run_groups != 0 ? bucket.runs.size() * sizeof(FieldElement) * HashKey::count : 0;
        bytes = under_keys;
        for_each_run(bucket, device, [&](const GroupRun& run) {
            if (run.way != Way::under_keys) return;
            const std::size_t each = message_bytes(run, device);
            const std::size_t all =
                std::max(each, std::min((run.to - run.from) * each, GhashKeys::scratch_bytes(device)));
            bytes = std::max(bytes, under_keys + all);
        });
    }
    std::size_t pads, digests, j0s, rewritten, powers, under_keys, bytes;
};

class GcmBatchLaunch {
public:
    GcmBatchLaunch(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream)
        : bucket_(bucket), device_(device), stream_(stream), decrypts_(bucket.direction == Direction::decrypt) {
        const Scratch scratch(bucket, device);
        p_.groups = bucket.on_device;
        p_.group_count = static_cast<std::uint32_t>(bucket.groups.size());
        p_.first = 0;
        p_.end = bucket.messages;
        p_.pads = reinterpret_cast<uint4*>(bucket.scratch + scratch.pads);
        p_.digests = reinterpret_cast<uint4*>(bucket.scratch + scratch.digests);
        p_.j0s = reinterpret_cast<uint4*>(bucket.scratch + scratch.j0s);
        p_.rewritten = reinterpret_cast<BatchGroup*>(bucket.scratch + scratch.rewritten);
        p_.decrypts = decrypts_ ? 1 : 0;
        powers_ = reinterpret_cast<FieldElement*>(bucket.scratch + scratch.powers);
        under_keys_ = {bucket.scratch + scratch.under_keys, scratch.bytes - scratch.under_keys};
    }

    void enqueue() {
        if (!decrypts_) {
            add_key_stream();
            hash();
        } else {
            // In-place decryption must hash the ciphertext before overwriting it.
            hash();
            add_key_stream();
            settle(p_, bucket_.long_messages);
        }
    }

private:
    void a_thread_each(Kernel<GcmBatchParams> kernel, const GcmBatchParams& p) const {
        launch(kernel, thread_each(device_, p.end - p.first, GcmBatch::other_threads, GcmBatch::other_blocks_each),
               stream_, p);
    }

    /// `parts` means that several warps share the wiping of a message.
    void settle(const GcmBatchParams& p, bool parts) const {
        const std::uint64_t units = parts ? bucket_.units : p.end - p.first;
        launch(gcm_settle_kernel_for(), WipeShape::shape(device_, units), stream_,
               GcmSettleParams{p, units, parts ? bucket_.at_once : 0, WipeShape::at_once(device_, units)});
    }

    void add_key_stream() const {
        Bucket bucket = bucket_;
        if (has_other_ivs(bucket_)) {
            a_thread_each(gcm_j0_kernel_for(), p_);
            bucket.on_device = p_.rewritten;
        }
        enqueue_counters(bucket, device_, stream_, p_.pads);
    }

    void hash() const {
        for_each_run(bucket_, device_, [&](const GroupRun& run) {
            GcmBatchParams part = p_;
            part.groups += run.first;
            part.group_count = static_cast<std::uint32_t>(run.end - run.first);
            part.first = run.from;
            part.end = run.to;
            switch (run.way) {
            case Way::short_messages:
                return hash_short(part);
            case Way::rows:
                return hash_rows(run, part);
            case Way::pieces:
                hash_pieces(run, part);
                break;
            case Way::under_keys:
                hash_under_keys(run, part);
                break;
            case Way::under_one_key:
                hash_under_one_key(bucket_.groups[run.first], part);
                break;
            }
            if (!decrypts_) settle(part, false);
        });
    }

    void launch_ghash(Kernel<GcmBatchParams> kernel, const GcmBatchParams& part, std::uint64_t threads) const {
        launch(kernel, thread_each(device_, threads, GcmBatch::ghash_threads, GcmBatch::ghash_blocks_each), stream_,
               part);
    }

    void hash_short(const GcmBatchParams& part) const {
        const std::uint64_t messages = part.end - part.first;
        const int lanes = GcmBatch::lanes(device_, messages);
        launch_ghash(ghash_batch_kernel_for(lanes), part, messages * static_cast<std::uint64_t>(lanes));
    }

    void hash_rows(const GroupRun& run, const GcmBatchParams& part) const {
        Secret<GcmRowsParams> p;
        p->batch = part;
        p->most_edges = static_cast<std::uint32_t>(run.edges);
        p->runs = nullptr;
        p->run_count = 1;
        p->run_powers = nullptr;
        if (bucket_.one_key != nullptr) {
            const auto& powers = bucket_.one_key->hash_key().powers;
            std::copy(powers.begin(), powers.end(), p->powers);
            p->tiles = static_cast<std::uint32_t>(GcmRows::tiles_of(part.end - part.first));
        } else {
            p->runs = bucket_.runs_on_device;
            p->run_count = static_cast<std::uint32_t>(bucket_.runs.size());
            p->run_powers = powers_;
            const KeyRun& last = bucket_.runs.back();
            p->tiles = last.first_tile + static_cast<std::uint32_t>(GcmRows::tiles_of(last.messages));
            launch(ghash_run_powers_kernel_for(),
                   thread_each(device_, std::uint64_t{8} * p->run_count, GhashKeys::power_threads,
                               GhashKeys::power_blocks_each),
                   stream_, RunPowersParams{p->runs, p->run_count, powers_});
        }
        const LaunchShape shape = GcmRows::shape(device_, p->tiles);
        p->tiles_at_once = GcmRows::tiles_at_once(p->tiles, p->run_count, shape.grid);
        launch(ghash_messages_kernel_for(GhashMma::wide(device_), run.aligned), shape, stream_, *p);
    }

    void hash_pieces(const GroupRun& run, GcmBatchParams part) const {
        part.pieces = (run.blocks + GcmBatchParams::piece_blocks - 1) / GcmBatchParams::piece_blocks;
        const std::uint64_t messages = part.end - part.first;
        check(cudaMemsetAsync(part.digests + part.first, 0, messages * block_bytes, stream_), "clearing digests");
        launch_ghash(ghash_pieces_kernel_for(), part, messages * part.pieces * 32);
    }

    /// Processes as many messages at a time as fit in the scratch memory.
    void hash_under_keys(const GroupRun& run, const GcmBatchParams& part) const {
        const GhashKeysShape shape = ghash_keys_shape(device_, run.to - run.from, run.longest);
        const std::uint64_t at_once = under_keys_.size() / GhashKeys::message_bytes(shape.rows, shape.row_blocks);
        GhashKeysParams p{};
        p.groups = part.groups;
        p.group_count = part.group_count;
        p.rows = shape.rows;
        p.row_blocks = shape.row_blocks;
        p.powers = reinterpret_cast<FieldElement*>(under_keys_.data());
        p.digests = reinterpret_cast<uint4*>(p.powers + at_once * GhashKeys::powers_of(shape.row_blocks));
        p.sums = part.digests;
        p.decrypts = part.decrypts;
        const bool wide = GhashMma::wide(device_);
        for (p.first = part.first; p.first < part.end; p.first = p.end) {
            p.end = std::min(p.first + at_once, part.end);
            const std::uint64_t messages = p.end - p.first;
            const int lanes = GhashKeys::lanes(messages);
            launch(ghash_powers_kernel_for(),
                   thread_each(device_, 8 * messages, GhashKeys::power_threads, GhashKeys::power_blocks_each), stream_,
                   p);
            launch(ghash_keys_kernel_for(wide, run.aligned),
                   {static_cast<int>(messages * (shape.rows / GhashKeys::rows_of_block)), GhashKeys::threads,
                    GhashMma::shared_bytes(device_)},
                   stream_, p);
            launch(ghash_keys_sum_kernel_for(lanes),
                   thread_each(device_, messages * static_cast<unsigned>(lanes), GhashKeys::threads,
                               GhashKeys::blocks_each),
                   stream_, p);
        }
        a_thread_each(gcm_finish_kernel_for(), part);
    }

    void hash_under_one_key(const BatchGroup& g, const GcmBatchParams& part) const {
        cuda::enqueue(GcmRun{.direction = Direction::encrypt,
                             .key = bucket_.one_key,
                             .input = decrypts_ ? g.input : g.output,
                             .output = nullptr,
                             .count = g.count,
                             .segment_bytes = g.length,
                             .last_bytes = g.length,
                             .input_stride = decrypts_ ? g.input_stride : g.output_stride,
                             .results = reinterpret_cast<Block*>(part.digests + part.first)},
                      device_, stream_);
        a_thread_each(gcm_finish_kernel_for(), part);
    }

    const Bucket& bucket_;
    const DeviceLimits& device_;
    cudaStream_t stream_;
    bool decrypts_;
    GcmBatchParams p_{};
    FieldElement* powers_;                ///< scratch memory for Way::rows under several keys
    std::span<std::uint8_t> under_keys_;  ///< scratch memory for Way::under_keys
};

}  // namespace

void prepare_gcm(Bucket& bucket, const DeviceLimits& device) {
    if (bucket.fits_one_pass && prepare_one_pass(bucket, device)) return;
    sort_by_key(bucket, device);
    prepare_counters(bucket, device);
    bucket.scratch_bytes = Scratch(bucket, device).bytes;
}

void enqueue_gcm(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    if (bucket.one_pass.kernels != GcmOnePass::Kernels::several) return enqueue_one_pass(bucket, device, stream);
    GcmBatchLaunch(bucket, device, stream).enqueue();
}

}  // namespace warpaes::cuda
