// Batches of GCM: the key stream, GHASH in two ways, tags.
#include <algorithm>

#include "cuda/batch_launch.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

namespace {

bool has_other_ivs(const Bucket& bucket) {
    return std::any_of(bucket.groups.begin(), bucket.groups.end(),
                       [](const BatchGroup& g) { return g.iv_length != 12; });
}

/// What lies where in the bucket's scratch memory.
struct Scratch {
    explicit Scratch(const Bucket& bucket) {
        const std::size_t of_messages = bucket.messages * block_bytes;
        pads = 0;
        digests = of_messages;
        j0s = 2 * of_messages;
        rewritten = j0s + (has_other_ivs(bucket) ? of_messages : 0);
        bytes = rewritten + (has_other_ivs(bucket) ? bucket.groups.size() * sizeof(BatchGroup) : 0);
    }
    std::size_t pads, digests, j0s, rewritten, bytes;
};

class GcmBatchLaunch {
public:
    GcmBatchLaunch(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream)
        : bucket_(bucket), device_(device), stream_(stream), decrypts_(bucket.direction == Direction::decrypt) {
        const Scratch scratch(bucket);
        p_.groups = bucket.on_device;
        p_.group_count = static_cast<std::uint32_t>(bucket.groups.size());
        p_.first = 0;
        p_.end = bucket.messages;
        p_.pads = reinterpret_cast<uint4*>(bucket.scratch + scratch.pads);
        p_.digests = reinterpret_cast<uint4*>(bucket.scratch + scratch.digests);
        p_.j0s = reinterpret_cast<uint4*>(bucket.scratch + scratch.j0s);
        p_.rewritten = reinterpret_cast<BatchGroup*>(bucket.scratch + scratch.rewritten);
        p_.decrypts = decrypts_ ? 1 : 0;
    }

    void enqueue() {
        if (!decrypts_) {
            add_key_stream();
            hash();
        } else {
            // Whoever decrypts in place must have hashed before.
            hash();
            add_key_stream();
            a_thread_each(gcm_settle_kernel_for(), p_);
        }
    }

private:
    void a_thread_each(Kernel<GcmBatchParams> kernel, const GcmBatchParams& p) const {
        launch(kernel, thread_each(device_, p.end - p.first, GcmBatch::other_threads, 16), stream_, p);
    }

    void add_key_stream() const {
        Bucket bucket = bucket_;
        if (has_other_ivs(bucket_)) {
            a_thread_each(gcm_j0_kernel_for(), p_);
            bucket.on_device = p_.rewritten;
        }
        enqueue_counters(bucket, device_, stream_, p_.pads);
    }

    enum class Way { short_messages, pieces, tensor_cores };

    [[nodiscard]] Way way_of(const BatchGroup& g) const {
        const std::uint64_t stride = decrypts_ ? g.input_stride : g.output_stride;
        if (bucket_.one_key != nullptr && g.length >= GcmBatch::least_long &&
            g.count * g.length >= GcmBatch::least_bytes && g.aad_length <= GcmBatch::most_aad && stride >= g.length) {
            return Way::tensor_cores;
        }
        return blocks_of(g.length) > 2 * GcmBatchParams::piece_blocks ? Way::pieces : Way::short_messages;
    }

    /// Neighbouring groups together, if they go the same way; those in pieces if their messages have about as many.
    void hash() const {
        for (std::size_t group = 0; group < bucket_.groups.size();) {
            const BatchGroup& first = bucket_.groups[group];
            const Way way = way_of(first);
            std::size_t end = group + 1;
            for (; end < bucket_.groups.size() && way != Way::tensor_cores; ++end) {
                const BatchGroup& next = bucket_.groups[end];
                if (way_of(next) != way || (way == Way::pieces && next.length < first.length / 2)) break;
            }
            GcmBatchParams part = p_;
            part.groups += group;
            part.group_count = static_cast<std::uint32_t>(end - group);
            part.first = first.first_message;
            part.end = end == bucket_.groups.size() ? bucket_.messages : bucket_.groups[end].first_message;
            if (way == Way::short_messages) {
                hash_short(part);
            } else {
                way == Way::pieces ? hash_pieces(group, part) : hash_on_tensor_cores(first, part);
                if (!decrypts_) a_thread_each(gcm_settle_kernel_for(), part);
            }
            group = end;
        }
    }

    void launch_ghash(Kernel<GcmBatchParams> kernel, const GcmBatchParams& part, std::uint64_t threads) const {
        launch(kernel, thread_each(device_, threads, GcmBatch::ghash_threads, 2), stream_, part);
    }

    void hash_short(const GcmBatchParams& part) const {
        const std::uint64_t messages = part.end - part.first;
        const int lanes = GcmBatch::lanes(device_, messages);
        launch_ghash(ghash_batch_kernel_for(lanes), part, messages * static_cast<std::uint64_t>(lanes));
    }

    void hash_pieces(std::size_t group, GcmBatchParams part) const {
        std::uint64_t blocks = 0;
        for (const BatchGroup& g : bucket_.groups.subspan(group, part.group_count)) {
            blocks = std::max(blocks, blocks_of(g.aad_length) + blocks_of(g.length) + 1);
        }
        part.pieces = (blocks + GcmBatchParams::piece_blocks - 1) / GcmBatchParams::piece_blocks;
        const std::uint64_t messages = part.end - part.first;
        check(cudaMemsetAsync(part.digests + part.first, 0, messages * block_bytes, stream_), "clearing digests");
        launch_ghash(ghash_pieces_kernel_for(), part, messages * part.pieces * 32);
    }

    void hash_on_tensor_cores(const BatchGroup& g, const GcmBatchParams& part) const {
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
};

}  // namespace

void prepare_gcm(Bucket& bucket, const DeviceLimits& device) {
    sort_groups(bucket, [](const BatchGroup& g) { return g.length; });
    prepare_counters(bucket, device);
    bucket.scratch_bytes = Scratch(bucket).bytes;
}

void enqueue_gcm(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    GcmBatchLaunch(bucket, device, stream).enqueue();
}

}  // namespace warpaes::cuda
