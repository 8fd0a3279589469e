// GCM runs. One message takes one launch if the GPU and the message allow it (MessageLaunch). Otherwise the key stream
// and GHASH are separate passes over the same segments, and the digests of GHASH's rows are combined (GcmLaunch).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "cuda/gcm_weights.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/gcm.hpp"
#include "cuda/tuning/ghash.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

Segments segments_of(const GcmRun& run, const std::uint8_t* data, std::uint64_t stride) {
    const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(data) | (run.count > 1 ? stride : 0);
    return {data, stride, run.count, run.segment_bytes, run.last_bytes, alignment_of(bits), run.reversed};
}

/// Returns the term for the associated data and the lengths, before the last multiplication by H (SP 800-38D, 7.1, step
/// 5).
FieldElement addend_of(const GcmRun& run, std::uint64_t bytes) {
    const FieldElement lengths = length_block(run.aad_bytes, bytes);
    if (run.aad_bytes == 0) return lengths;
    return lengths ^ multiply(load_element(run.aad_digest), power(run.key->hash_key(), blocks_of(bytes)));
}

/// A run in several launches. The class chooses the kernels, their order and their scratch memory.
class GcmLaunch {
public:
    GcmLaunch(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, const GcmScratch* scratch)
        : run_(run),
          device_(device),
          stream_(stream),
          tag_(run.result == GcmRun::Result::tag),
          encrypts_(run.direction == Direction::encrypt && run.output != nullptr),
          blocks_((run.count > 1 ? std::max(run.segment_bytes, run.last_bytes) : run.last_bytes) / block_bytes),
          rows_(row_shape(device, run.count, blocks_)),
          j0_blocks_(run.count > 1 && !run.hashes_only() ? run.count : 0),
          pad_blocks_(tag_ ? run.count : 0),
          waits_(scratch != nullptr),
          pooled_(waits_ ? 0 : scratch_bytes(), stream),
          scratch_(static_cast<uint4*>(waits_ ? scratch->buffer.reserve(scratch_bytes()) : pooled_.get())) {}

    void enqueue() {
        if (run_.hashes_only()) return hash();
        if (j0_blocks_ != 0) copy_j0s();
        if (encrypts_) {
            add_key_stream();
            hash();
        } else {
            // Decryption may be in place, so GHASH reads the ciphertext before it is overwritten.
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

    /// Copies the counters. A copy from pageable memory has read its source when it returns, but a copy from
    /// page-locked memory may read its source later. A caller that does not wait may change its memory as soon as
    /// enqueue() returns, so page-locked counters are first copied to pageable memory.
    void copy_j0s() const {
        const std::size_t bytes = j0_blocks_ * block_bytes;
        std::vector<Block> copy;
        if (!waits_ && is_page_locked(run_.j0)) copy.assign(run_.j0, run_.j0 + j0_blocks_);
        check(cudaMemcpyAsync(j0s(), copy.empty() ? run_.j0 : copy.data(), bytes, cudaMemcpyHostToDevice, stream_),
              "copying counters");
    }

    static bool is_page_locked(const void* pointer) {
        cudaPointerAttributes attributes{};
        return try_to(cudaPointerGetAttributes(&attributes, pointer)) && attributes.type != cudaMemoryTypeUnregistered;
    }

    static std::uint64_t outputs_for(std::uint64_t digests) {
        return (digests + GhashCombine::most - 1) / GhashCombine::most;
    }
    /// Returns the number of digests of all GHASH levels, stored level after level in scratch memory.
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
            // The buffers of an empty message may be null. The kernel computes addresses from them but does not access
            // them.
            p->output = reinterpret_cast<std::uint8_t*>(run_.results);
            p->input.data = p->output;
        }
        p->input.alignment = std::min(p->input.alignment, segments_of(run_, run_.output, run_.output_stride).alignment);
        p->j0s = j0_blocks_ != 0 ? j0s() : nullptr;
        std::memcpy(&p->j0, run_.j0->data(), block_bytes);
        p->first_block = static_cast<std::uint32_t>(run_.first_block);
        // J0 may be at any position in a segment's first window; J0 and a partial block each use one counter.
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
        // When encrypting, `pads` already contains E(J0). When decrypting, the key stream's kernel adds E(J0) later.
        p->finish.pads = encrypts_ ? pads() : nullptr;
        p->finish.results =
            reinterpret_cast<std::uint8_t*>(tag_ && !encrypts_ ? pads() : static_cast<void*>(run_.results));
        p->finish.alignment = alignment_of(reinterpret_cast<std::uintptr_t>(p->finish.results));
        std::copy(key.powers.begin(), key.powers.end(), p->powers);
        launch(rows_.tensor_cores ? ghash_mma_kernel_for(GhashMma::wide(device_), p->text) : ghash_rows_kernel_for(),
               rows_.launch, stream_, *p);
        if (rows_.rows > 1) combine(*p);
    }

    void combine(const RowParams& rows) {
        Secret<CombineParams> p;
        p->text = rows.text;
        p->finish = rows.finish;
        Secret<FieldElement> factor(power(run_.key->hash_key(), rows.row_blocks));
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
            launch(
                ghash_combine_kernel_for(),
                thread_each(device_, run_.count * p->outputs * lanes, GhashCombine::threads, GhashCombine::blocks_each),
                stream_, *p);
        }
    }

    const GcmRun& run_;
    const DeviceLimits& device_;
    cudaStream_t stream_;
    bool tag_;
    bool encrypts_;         ///< whether GHASH reads the output
    std::uint64_t blocks_;  ///< whole blocks of the longest segment
    RowShape rows_;
    std::uint64_t j0_blocks_, pad_blocks_;
    bool waits_;  ///< whether the caller keeps `j0` until the stream has passed the run
    StreamScratch pooled_;
    uint4* scratch_;
};

/// One message in one launch: chooses the kernel and computes its parameters.
class MessageLaunch {
public:
    /// `sum` may be null. `shares` is where the thread blocks store shares of the result.
    MessageLaunch(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, GcmSum* sum,
                  const HostShares& shares)
        : run_(run), device_(device), stream_(stream), sum_(sum), shares_(shares) {}

    /// Uses the sum of a piece, which the kernel releases.
    void use(const StreamPieces::Piece& piece) {
        sum_ = piece.sum();
        release_ = piece.release;
    }

    /// Whether one launch can process the message.
    [[nodiscard]] bool is_possible() const { return is_short() || is_long() || is_medium(); }
    [[nodiscard]] bool is_short() const { return GcmShort::takes(device_, blocks_of(bytes())); }

    /// Returns how many thread blocks store a share of the result; 0: the kernel stores the result.
    unsigned enqueue() {
        if (is_short()) return enqueue_short();
        return is_long() ? enqueue_long() : enqueue_medium();
    }

    /// With `check.status`, the kernel checks the tag.
    unsigned enqueue_short(const TagCheck& check = {}) {
        Secret<GcmShortParams> p;
        begin(*p);
        p->check = check;
        const std::uint64_t blocks = blocks_of(bytes());
        p->share = GcmShort::share(device_, blocks);
        std::copy_n(powers().begin() + (p->tag ? 1 : 0), warp_lanes, p->powers);
        const std::uint64_t groups = std::clamp<std::uint64_t>((blocks + 31) / 32, 1, p->share / warp_lanes);
        set_weights(std::span(p->group_weights).first(groups), field_one, powers()[warp_lanes - 1]);
        return enqueue(*p, gcm_short_kernel_for(run_.key->rounds()), GcmShort::shape(device_, blocks), p->share,
                       field_one);
    }

private:
    [[nodiscard]] bool is_medium() const { return GcmMediumShape::takes(device_, whole()); }

    unsigned enqueue_medium() {
        const GcmMediumShape shape = gcm_medium_shape(device_, whole());
        Secret<GcmPartsParams> p;
        begin(*p, shape.share);
        p->row_blocks = shape.row_blocks;
        std::copy(powers().begin(), powers().end(), p->powers);
        // The row weights account for the blocks after the text, so the weight of the last warp is one.
        const FieldElement row = powers()[shape.row_blocks - 1];
        set_weights(p->row_weights, p->tail_weight, row);
        const std::size_t rows = (shape.share + shape.row_blocks - 1) / shape.row_blocks, warps = (rows + 7) / 8;
        if (warps > 1)
            set_weights(std::span(p->warp_weights).first(warps), field_one,
                        power(run_.key->hash_key(), 8 * shape.row_blocks));
        return enqueue(*p, gcm_medium_kernel_for(run_.key->rounds(), shape.launch.tables, GhashMma::wide(device_)),
                       shape.launch, shape.share, field_one);
    }

    [[nodiscard]] bool is_long() const {
        return GcmLong::takes(device_, whole()) && segments_of(run_, run_.input, 0).alignment == 16 &&
               segments_of(run_, run_.output, 0).alignment == 16;
    }

    unsigned enqueue_long() {
        const std::uint64_t skew = (first_counter() & 0xffffu) + 1;
        const std::uint64_t end = (skew + whole() + 255) / 256, zeros = end * 256 - skew - whole();
        const GcmLongShape shape = gcm_long_shape(device_, end - skew / 256);
        Secret<GcmPartsParams> p;
        begin(*p, shape.share);
        const auto& weights = run_.key->derived<GcmWeights>();
        std::copy(std::begin(weights.powers), std::end(weights.powers), p->powers);
        std::copy(std::begin(weights.row_weights), std::end(weights.row_weights), p->row_weights);
        std::copy(std::begin(weights.warp_weights), std::end(weights.warp_weights), p->warp_weights);
        // In the last window, the text is followed by `zeros` blocks.
        const Secret<FieldElement> correction(multiply(weights.correction, power(weights.inverse, zeros)));
        const Secret<FieldElement> last(multiply(p->tail_weight, *correction));
        return enqueue(*p, gcm_long_kernel_for(run_.key->rounds(), run_.direction), shape.launch,
                       256 * std::uint64_t{shape.share}, *last);
    }

private:
    [[nodiscard]] std::uint64_t bytes() const { return run_.last_bytes; }
    [[nodiscard]] std::uint64_t whole() const { return bytes() / block_bytes; }
    [[nodiscard]] const std::array<FieldElement, HashKey::count>& powers() const { return run_.key->hash_key().powers; }
    [[nodiscard]] FieldElement h() const { return powers()[0]; }
    [[nodiscard]] std::uint32_t first_counter() const {
        std::uint32_t counter;
        std::memcpy(&counter, run_.j0->data() + 12, sizeof counter);
        return __builtin_bswap32(counter) + static_cast<std::uint32_t>(run_.first_block);
    }

    void begin(GcmMessageParams& p) const {
        p.input = run_.input;
        p.output = run_.output;
        if (bytes() == 0) {
            // The buffers of an empty message may be null. The kernel computes addresses from them but does not access
            // them.
            p.output = reinterpret_cast<std::uint8_t*>(run_.results);
            p.input = p.output;
        }
        p.bytes = bytes();
        p.alignment = alignment_of(p.input, p.output);
        p.encrypts = run_.direction == Direction::encrypt;
        p.tag = run_.result == GcmRun::Result::tag;
        p.first_block = static_cast<std::uint32_t>(run_.first_block);
        std::memcpy(&p.j0, run_.j0->data(), block_bytes);
        p.result = reinterpret_cast<std::uint8_t*>(run_.results);
        p.result_alignment = alignment_of(reinterpret_cast<std::uintptr_t>(run_.results));
        if (p.tag) p.addend = multiply(addend_of(run_, bytes()), h());
        copy_round_keys(p.round_keys, *run_.key, Mode::gcm, run_.direction);
    }

    void begin(GcmPartsParams& p, std::uint32_t share) const {
        begin(p);
        p.share = share;
        // The part after the last whole block: the partial block and, for a tag, the block of lengths.
        const bool has_tail = bytes() % block_bytes != 0;
        p.tail_weight = has_tail ? h() : field_one;
        if (p.tag) p.tail_weight = has_tail ? powers()[1] : h();
    }

    /// `share` is the number of blocks per thread block. `last` is the weight of the last thread block. Returns the
    /// number of thread blocks that store shares, or 0.
    template <typename P>
    unsigned enqueue(P& p, Kernel<P> kernel, const LaunchShape& shape, std::uint64_t share, FieldElement last) const {
        const auto grid = static_cast<std::size_t>(shape.grid);
        const StreamScratch pooled(sum_ == nullptr && !shares_.any() && grid > 1 ? sizeof(GcmSum) : 0, stream_);
        if (pooled.get() != nullptr) {
            check(cudaMemsetAsync(pooled.get(), 0, sizeof(GcmSum), stream_), "clearing scratch memory");
        }
        p.sum = sum_ != nullptr ? sum_ : static_cast<GcmSum*>(pooled.get());
        p.release = release_;
        p.shares = shares_;
        constexpr std::size_t radix = GcmMessage::radix;
        Secret<FieldElement> factor(grid > 1 ? power(run_.key->hash_key(), share) : field_one);
        const std::span weights(p.block_weights);
        if (grid <= weights.size()) {
            set_weights(weights.first(grid), last, *factor);
        } else {
            set_weights(weights.first(radix), field_one, *factor);
            *factor = power(*factor, radix);
            set_weights(weights.subspan(radix, (grid + radix - 1) / radix), last, *factor);
        }
        launch(kernel, shape, stream_, p);
        return p.shares.any() ? static_cast<unsigned>(grid) : 0;
    }

    const GcmRun& run_;
    const DeviceLimits& device_;
    cudaStream_t stream_;
    GcmSum* sum_;  ///< null: allocated if needed
    HostShares shares_;
    Notice release_;
};

unsigned enqueue(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, const GcmScratch* scratch,
                 const HostShares& shares) {
    if (run.count == 0) return 0;
    if (run.count == 1 && !run.hashes_only()) {
        MessageLaunch message(run, device, stream, scratch != nullptr ? scratch->sum : nullptr, shares);
        if (message.is_possible()) return message.enqueue();
    }
    GcmLaunch(run, device, stream, scratch).enqueue();
    return 0;
}

}  // namespace

unsigned enqueue(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, const GcmScratch* scratch) {
    return enqueue(run, device, stream, scratch, scratch != nullptr ? scratch->shares : HostShares{});
}

void enqueue_seal(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, StreamPieces& pieces) {
    MessageLaunch message(run, device, stream, nullptr, {});
    if (message.is_possible()) {
        if (const StreamPieces::Piece piece = pieces.take(stream); piece.memory != nullptr) message.use(piece);
        (void)message.enqueue();
        return;
    }
    GcmLaunch(run, device, stream, nullptr).enqueue();
}

void enqueue_open(const GcmRun& run, std::span<const std::uint8_t> expected, bool expected_on_device,
                  std::int32_t* status, const DeviceLimits& device, cudaStream_t stream, StreamPieces& pieces) {
    const TagCheck its_check = check_of(expected, expected_on_device, status);
    // A piece whose run failed is not used again.
    const StreamPieces::Piece piece = pieces.take(stream);
    if (piece.memory != nullptr) {
        MessageLaunch message(run, device, stream, nullptr, {});
        if (message.is_short()) {
            message.use(piece);
            (void)message.enqueue_short(its_check);
            return;
        }
    }
    // The number of thread blocks that have arrived, the tag, and shares of the tag.
    struct Memory {
        alignas(block_bytes) unsigned arrived;
        Block tag;
        unsigned shares[HostShares::words_each * GcmMessage::radix * GcmMessage::radix];
    };
    static_assert(sizeof(Memory) + sizeof(GcmSum) <= StreamPieces::bytes);
    const StreamScratch scratch(piece.memory == nullptr ? sizeof(Memory) : 0, stream);
    auto* const memory = static_cast<Memory*>(piece.memory != nullptr ? piece.memory : scratch.get());
    Notice release = piece.release;
    release.arrived = &memory->arrived;
    GcmRun here = run;
    here.results = &memory->tag;
    HostShares shares;
    shares.kept = memory->shares;
    shares.arrived = &memory->arrived;
    const unsigned count = enqueue(here, device, stream, nullptr, shares);
    try {
        if (count == 0) check(cudaMemsetAsync(&memory->arrived, 0, sizeof(unsigned), stream), "clearing memory");
        enqueue_wipe({.output = run.output,
                      .bytes = run.last_bytes,
                      .shares = count != 0 ? memory->shares : reinterpret_cast<unsigned*>(&memory->tag),
                      .share_count = count != 0 ? count : 1,
                      .check = its_check},
                     device, stream, release);
    } catch (...) {
        try_to(cudaMemsetAsync(run.output, 0, run.last_bytes, stream));
        try_to(cudaMemsetAsync(memory, 0, sizeof(Memory), stream));
        throw;
    }
}

}  // namespace warpaes::cuda
