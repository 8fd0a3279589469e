// GCM runs: key stream and GHASH one after the other over the same segments, and the digests of GHASH's rows put
// together.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

namespace {

Segments segments_of(const GcmRun& run, const std::uint8_t* data, std::uint64_t stride) {
    const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(data) | (run.count > 1 ? stride : 0);
    return {data, stride, run.count, run.segment_bytes, run.last_bytes, alignment_of(bits)};
}

/// What GHASH adds before the last multiplication by H: associated data and lengths (SP 800-38D, 7.1, step 5).
FieldElement addend_of(const GcmRun& run, std::uint64_t bytes) {
    const FieldElement lengths = length_block(run.aad_bytes, bytes);
    if (run.aad_bytes == 0) return lengths;
    return lengths ^ multiply(load_element(run.aad_digest), power(run.key->hash_key().powers[0], blocks_of(bytes)));
}

/// One run on one stream: which kernels, in which order, on which scratch memory.
class GcmLaunch {
public:
    GcmLaunch(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream,
              const std::function<void*(std::size_t)>& reserve)
        : run_(run),
          device_(device),
          stream_(stream),
          tag_(run.result == GcmRun::Result::tag),
          encrypts_(run.direction == Direction::encrypt && run.output != nullptr),
          blocks_((run.count > 1 ? std::max(run.segment_bytes, run.last_bytes) : run.last_bytes) / block_bytes),
          rows_(row_shape(device, run.count, blocks_)),
          j0_blocks_(run.count > 1 && !run.hashes_only() ? run.count : 0),
          pad_blocks_(tag_ ? run.count : 0),
          waits_(reserve),
          pooled_(reserve ? 0 : scratch_bytes(), stream),
          scratch_(static_cast<uint4*>(reserve ? reserve(scratch_bytes()) : pooled_.get())) {}

    void enqueue() {
        if (run_.hashes_only()) return hash();
        if (j0_blocks_ != 0) copy_j0s();
        if (encrypts_) {
            add_key_stream();
            hash();
        } else {
            // Whoever decrypts in place must have hashed before.
            hash();
            add_key_stream();
        }
    }

private:
    [[nodiscard]] std::size_t scratch_bytes() const {
        return (j0_blocks_ + pad_blocks_ + digest_blocks()) * block_bytes;
    }
    [[nodiscard]] uint4* j0s() const { return scratch_; }
    [[nodiscard]] uint4* pads() const { return tag_ ? j0s() + j0_blocks_ : nullptr; }
    [[nodiscard]] uint4* digests() const { return j0s() + j0_blocks_ + pad_blocks_; }

    /// From pageable memory a copy returns when it has read everything; page-locked memory, which a caller who does not
    /// wait may change as soon as we return, takes a detour through such.
    void copy_j0s() const {
        const std::size_t bytes = j0_blocks_ * block_bytes;
        std::vector<Block> copy;
        if (!waits_ && is_page_locked(run_.j0)) copy.assign(run_.j0, run_.j0 + j0_blocks_);
        check(cudaMemcpyAsync(j0s(), copy.empty() ? run_.j0 : copy.data(), bytes, cudaMemcpyHostToDevice, stream_),
              "copying counters");
    }

    static bool is_page_locked(const void* pointer) {
        cudaPointerAttributes attributes{};
        if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess) {
            return attributes.type != cudaMemoryTypeUnregistered;
        }
        (void)cudaGetLastError();
        return false;
    }

    static std::uint64_t outputs_for(std::uint64_t digests) {
        return (digests + GhashCombine::most - 1) / GhashCombine::most;
    }
    /// Of all levels, one after the other.
    [[nodiscard]] std::uint64_t digest_blocks() const {
        std::uint64_t blocks = 0;
        for (std::uint64_t n = rows_.rows; n > 1; n = outputs_for(n)) blocks += run_.count * n;
        return blocks;
    }

    void add_key_stream() {
        Secret<GcmCtrParams> p;
        p->input = segments_of(run_, run_.input, run_.input_stride);
        p->output = run_.output;
        p->output_stride = run_.output_stride;
        if (run_.total_bytes() == 0) {
            // Of an empty message the buffers may be null, and the kernel reckons from them, though it touches neither.
            p->output = reinterpret_cast<std::uint8_t*>(run_.results);
            p->input.data = p->output;
        }
        p->input.alignment = std::min(p->input.alignment, segments_of(run_, run_.output, run_.output_stride).alignment);
        p->j0s = j0_blocks_ != 0 ? j0s() : nullptr;
        std::memcpy(&p->j0, run_.j0->data(), block_bytes);
        p->first_block = static_cast<std::uint32_t>(run_.first_block);
        // A segment may begin anywhere in its first window.
        const WindowShape windows = window_shape(device_, run_.count, (255 + 1 + blocks_ + 1 + 255) / 256);
        p->window_count = static_cast<std::uint32_t>(windows.windows);
        p->parts = static_cast<std::uint32_t>(windows.parts);
        p->pads = pads();
        p->tags = encrypts_ ? nullptr : reinterpret_cast<std::uint8_t*>(run_.results);
        p->tags_alignment = alignment_of(reinterpret_cast<std::uintptr_t>(run_.results));
        copy_round_keys(p->round_keys, *run_.key, Mode::gcm, run_.direction);
        const LaunchShape shape = launch_shape(device_, run_.count * windows.parts * (8 / gcm_ctr_width));
        launch(gcm_ctr_kernel_for(run_.key->rounds(), shape.tables, p->input.alignment == 16), shape, stream_, *p);
    }

    void hash() {
        const HashKey& key = run_.key->hash_key();
        Secret<RowParams> p;
        p->text = encrypts_ ? segments_of(run_, run_.output, run_.output_stride)
                            : segments_of(run_, run_.input, run_.input_stride);
        p->rows = rows_.rows;
        p->row_blocks = rows_.blocks;
        p->digests = rows_.rows == 1 ? nullptr : digests();
        p->finish.h = key.powers[0];
        p->finish.tag = tag_;
        if (tag_) {
            p->finish.addend = addend_of(run_, run_.segment_bytes);
            p->finish.last_addend = addend_of(run_, run_.last_bytes);
        }
        // E(J0) is there already, or comes later.
        p->finish.pads = encrypts_ ? pads() : nullptr;
        p->finish.results =
            reinterpret_cast<std::uint8_t*>(tag_ && !encrypts_ ? pads() : static_cast<void*>(run_.results));
        p->finish.alignment = alignment_of(reinterpret_cast<std::uintptr_t>(p->finish.results));
        std::copy(key.powers.begin(), key.powers.end(), p->powers);
        launch(rows_.tensor_cores ? ghash_mma_kernel_for(GhashMma::wide(device_), p->text.alignment == 16)
                                  : ghash_rows_kernel_for(),
               rows_.launch, stream_, *p);
        if (rows_.rows > 1) combine(*p);
    }

    void combine(const RowParams& rows) {
        Secret<CombineParams> p;
        p->text = rows.text;
        p->finish = rows.finish;
        Secret<FieldElement> factor(power(rows.powers[0], rows.row_blocks));
        uint4* at = digests();
        for (std::uint64_t n = rows.rows; n > 1; n = p->outputs) {
            p->digests = at;
            at += run_.count * n;
            p->combined = at;
            p->per_segment = n;
            p->outputs = outputs_for(n);
            p->log_lanes = n >= 32 ? 5 : static_cast<std::uint32_t>(std::bit_width(n - 1));
            const std::uint64_t lanes = std::uint64_t{1} << p->log_lanes;
            p->steps = static_cast<std::uint32_t>((n + lanes * p->outputs - 1) / (lanes * p->outputs));
            for (FieldElement& e : p->squares) {
                e = *factor;
                *factor = square(*factor);
            }
            *factor = power(p->squares[p->log_lanes], p->steps);
            launch(ghash_combine_kernel_for(),
                   thread_each(device_, run_.count * p->outputs * lanes, GhashCombine::threads, 16), stream_, *p);
        }
    }

    const GcmRun& run_;
    const DeviceLimits& device_;
    cudaStream_t stream_;
    bool tag_;
    bool encrypts_;         ///< what is hashed is the output
    std::uint64_t blocks_;  ///< whole ones, of the longest segment
    RowShape rows_;
    std::uint64_t j0_blocks_, pad_blocks_;
    bool waits_;  ///< what the caller provided stays until the stream is through
    StreamScratch pooled_;
    uint4* scratch_;
};

}  // namespace

void enqueue(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream,
             const std::function<void*(std::size_t)>& reserve) {
    if (run.count != 0) GcmLaunch(run, device, stream, reserve).enqueue();
}

}  // namespace warpaes::cuda
