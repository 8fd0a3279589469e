// Batches of GCM: the key stream, GHASH in two ways, tags.
#include <algorithm>

#include "cuda/batch_launch.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

namespace {

bool by_tensor_cores(const Bucket& bucket, const BatchGroup& g) {
    const std::uint64_t stride = bucket.direction == Direction::decrypt ? g.input_stride : g.output_stride;
    return bucket.one_key != nullptr && g.length >= GcmBatch::least_long &&
           g.count * g.length >= GcmBatch::least_bytes && stride >= g.length;
}

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
    void a_thread_each(GcmBatchKernel kernel, const GcmBatchParams& p) const {
        constexpr auto threads = static_cast<std::uint64_t>(GcmBatch::other_threads);
        const std::uint64_t blocks = (p.end - p.first + threads - 1) / threads;
        const auto most = static_cast<std::uint64_t>(device_.multiprocessors) * 16;
        launch(kernel, static_cast<int>(std::min(blocks, most)), GcmBatch::other_threads, 0, stream_, p);
    }

    void add_key_stream() const {
        Bucket bucket = bucket_;
        if (has_other_ivs(bucket_)) {
            a_thread_each(gcm_j0_kernel_for(), p_);
            bucket.on_device = p_.rewritten;
        }
        enqueue_counters(bucket, device_, stream_, p_.pads);
    }

    /// Neighbouring groups of short messages together, of long ones each by itself.
    void hash() const {
        for (std::size_t group = 0; group < bucket_.groups.size();) {
            std::size_t end = group + 1;
            const bool is_long = by_tensor_cores(bucket_, bucket_.groups[group]);
            while (!is_long && end < bucket_.groups.size() && !by_tensor_cores(bucket_, bucket_.groups[end])) ++end;
            GcmBatchParams part = p_;
            part.groups += group;
            part.group_count = static_cast<std::uint32_t>(end - group);
            part.first = bucket_.groups[group].first_message;
            part.end = end == bucket_.groups.size() ? bucket_.messages : bucket_.groups[end].first_message;
            is_long ? hash_long(bucket_.groups[group], part) : hash_short(part);
            group = end;
        }
    }

    void hash_short(const GcmBatchParams& part) const {
        const std::uint64_t messages = part.end - part.first;
        const int lanes = GcmBatch::lanes(device_, messages);
        const auto at_once = static_cast<std::uint64_t>(GcmBatch::ghash_threads / lanes);
        const auto most = static_cast<std::uint64_t>(device_.multiprocessors) * 2;
        launch(ghash_batch_kernel_for(lanes), static_cast<int>(std::min((messages + at_once - 1) / at_once, most)),
               GcmBatch::ghash_threads, 0, stream_, part);
    }

    void hash_long(const BatchGroup& g, const GcmBatchParams& part) const {
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
    std::stable_sort(bucket.groups.begin(), bucket.groups.end(),
                     [](const BatchGroup& a, const BatchGroup& b) { return a.length > b.length; });
    prepare_counters(bucket, device);
    bucket.scratch_bytes = Scratch(bucket).bytes;
}

void enqueue_gcm(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    GcmBatchLaunch(bucket, device, stream).enqueue();
}

}  // namespace warpaes::cuda
