#include "message/segments.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aes/ghash.hpp"
#include "base/error.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "message/tagged.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/pipeline.hpp"

namespace warpaes {

namespace {

/// A side of the batch: plaintext, or ciphertext with its inline tags.
struct Side {
    std::uint64_t stride;
    std::uint64_t tag_bytes;  ///< behind each segment
    std::uint64_t span;       ///< from the first byte to the last
};

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

Side side_of(const SegmentsRequest& r, const char* name, std::uint64_t stride, std::uint64_t tag_bytes) {
    const std::uint64_t least = r.segment_bytes + tag_bytes;
    if (stride == 0 || r.count == 1) stride = least;
    if (stride < least) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": a segment takes " + std::to_string(least) +
                                                " bytes, the next begins after " + std::to_string(stride));
    }
    if (stride > most_bytes || r.count > most_bytes / std::max<std::uint64_t>(stride, block_bytes)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "count: the segments, or their tags, take more than 2^60 bytes");
    }
    return {stride, tag_bytes, (r.count - 1) * stride + r.last_bytes + tag_bytes};
}

void check(const SegmentsRequest& r) {
    check_longest(Mode::gcm, r.segment_bytes, gcm_nonce_bytes, "segment_len");
    if (r.last_bytes > r.segment_bytes) {
        throw Error(WARPAES_ERROR_ARGUMENT, "last_len: is " + std::to_string(r.last_bytes) +
                                                ", more than segment_len, " + std::to_string(r.segment_bytes));
    }
    check_aad_length(Mode::gcm, r.aad_bytes);
    if (r.aad == nullptr && r.aad_bytes != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    if (r.count != 0 && r.nonces == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "nonces: is null");
}

void check_buffers(const SegmentsRequest& r, const Side& in, const Side& out) {
    if (r.input == nullptr && in.span != 0) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    if (r.output == nullptr && out.span != 0) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_memory(r.nonces, r.count * gcm_nonce_bytes, "nonces");
    check_memory(r.aad, r.aad_bytes, "aad");
    check_memory(r.input, in.span, "input");
    check_memory(r.output, out.span, "output");
    if (r.tags != nullptr) check_memory(r.tags, r.count * block_bytes, "tags");
    if (r.input == r.output && in.stride != out.stride && r.count > 1) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: is the input too, and then both strides are equal; they are " +
                                               std::to_string(in.stride) + " and " + std::to_string(out.stride));
    }
    check_overlap(r.input, in.span, r.output, out.span);
    // Segments are done in any order: what one writes no other may have to read.
    const std::uint64_t nonce_bytes = r.count * gcm_nonce_bytes, tag_bytes = r.count * block_bytes;
    if (overlap(r.nonces, nonce_bytes, r.output, out.span)) {
        throw Error(WARPAES_ERROR_OVERLAP, "nonces: lie in the output");
    }
    if (r.tags == nullptr) return;
    if (overlap(r.tags, tag_bytes, r.output, out.span)) throw Error(WARPAES_ERROR_OVERLAP, "tags: lie in the output");
    if (r.direction == Direction::encrypt &&
        (overlap(r.tags, tag_bytes, r.input, in.span) || overlap(r.tags, tag_bytes, r.nonces, nonce_bytes))) {
        throw Error(WARPAES_ERROR_OVERLAP, "tags: lie in the input or in the nonces");
    }
}

/// Neighbouring segments, as one chunk of the pipeline and one group of a lane, or two if the last is shorter.
class SegmentsStage final : public Stage {
public:
    struct Setup {
        const SegmentsRequest& request;
        Side in, out;
        std::uint64_t a_chunk;  ///< segments
        std::size_t staging_bytes;
        Block aad_digest;
        bool tags_on_device;  ///< those that are not inline
    };

    explicit SegmentsStage(const Setup& setup)
        : Stage({.staging_bytes = setup.staging_bytes, .in_place = false}), s_(setup), r_(setup.request) {}

    std::uint64_t input_offset(std::uint64_t chunk) const override { return chunk * s_.a_chunk * s_.in.stride; }
    std::uint64_t output_offset(std::uint64_t chunk) const override { return chunk * s_.a_chunk * s_.out.stride; }
    std::uint64_t chunks(std::uint64_t /*bytes*/) const override { return (r_.count + s_.a_chunk - 1) / s_.a_chunk; }

    void process(Lane& lane, Chunk& chunk) override {
        const std::uint64_t first = chunk.index * s_.a_chunk;
        const std::uint64_t count = std::min(s_.a_chunk, r_.count - first);
        const std::uint64_t last = first + count == r_.count ? r_.last_bytes : r_.segment_bytes;
        const bool encrypt = r_.direction == Direction::encrypt;
        const std::uint64_t in_stride = chunk.input == chunk.output ? s_.out.stride : s_.in.stride;
        std::uint8_t* const sealed = encrypt ? chunk.output : const_cast<std::uint8_t*>(chunk.input);
        const std::uint64_t sealed_stride = encrypt ? s_.out.stride : in_stride;
        std::uint8_t* const tags = r_.tags != nullptr ? r_.tags + first * block_bytes : nullptr;

        // A lane of the CPU reads nothing that lies on a device.
        std::optional<SecretBuffer> copied;
        if (s_.tags_on_device) copied.emplace(static_cast<std::size_t>(count * block_bytes));
        if (copied && !encrypt) copy_anywhere(copied->data(), tags, copied->size());
        std::vector<std::uint8_t> failed(encrypt ? 0 : static_cast<std::size_t>(count));
        const auto group = [&](std::uint64_t begin, std::uint64_t n, std::uint64_t bytes) {
            return MessageGroup{
                .mode = Mode::gcm,
                .direction = r_.direction,
                .count = n,
                .length = bytes,
                .input = Elements::of(chunk.input + begin * in_stride, in_stride),
                .output = {chunk.output + begin * s_.out.stride, s_.out.stride},
                .iv = Elements::of(r_.nonces + (first + begin) * gcm_nonce_bytes, gcm_nonce_bytes),
                .iv_length = gcm_nonce_bytes,
                .aad_length = r_.aad_bytes,
                .aad = {},
                .tag = r_.tags == nullptr
                           ? Elements{sealed + begin * sealed_stride + bytes, sealed_stride}
                           : Elements{(copied ? copied->data() : tags) + begin * block_bytes, block_bytes},
                .tag_length = block_bytes,
                .key = r_.key,
                .keys = {},
                .aad_digest = &s_.aad_digest,
                .failed = encrypt ? nullptr : failed.data() + begin,
                .direct = true};
        };
        if (last == r_.segment_bytes) {
            lane.run(group(0, count, last));
        } else {
            const MessageGroup groups[] = {group(0, count - 1, r_.segment_bytes), group(count - 1, 1, last)};
            lane.run(count == 1 ? std::span(groups).last(1) : std::span(groups));
        }
        if (copied && encrypt) copy_anywhere(tags, copied->data(), copied->size());
        chunk.output_bytes = static_cast<std::size_t>((count - 1) * s_.out.stride + last + s_.out.tag_bytes);
        note(failed, first);
    }

    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
    [[nodiscard]] std::uint64_t first_failure() const noexcept { return first_failure_; }

private:
    void note(const std::vector<std::uint8_t>& failed, std::uint64_t first) {
        const auto bad = std::find(failed.begin(), failed.end(), 1);
        if (bad == failed.end()) return;
        const std::uint64_t number = first + static_cast<std::uint64_t>(bad - failed.begin());
        const std::lock_guard lock(mutex_);
        if (failures_ == 0 || number < first_failure_) first_failure_ = number;
        failures_ += static_cast<std::uint64_t>(std::count(bad, failed.end(), 1));
    }

    const Setup s_;
    const SegmentsRequest& r_;
    std::mutex mutex_;
    std::uint64_t failures_ = 0;
    std::uint64_t first_failure_ = 0;
};

/// Writes the segments and leaves alone what lies between them.
class SegmentSink final : public Sink {
public:
    SegmentSink(const MemoryBuffer& buffer, const Side& side, std::uint64_t segment_bytes)
        : sink_(buffer), stride_(side.stride), unit_(segment_bytes + side.tag_bytes) {}
    bool is_sequential() const noexcept override { return false; }
    std::uint8_t* data() noexcept override { return sink_.data(); }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
        if (unit_ == stride_) return sink_.write(offset, bytes);
        for (std::uint64_t at = 0; at < bytes.size(); at += stride_) {
            const std::uint64_t n = std::min(unit_, bytes.size() - at);
            sink_.write(offset + at, bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n)));
        }
    }

private:
    MemorySink sink_;
    std::uint64_t stride_;
    std::uint64_t unit_;
};

/// More than this is not worth one run, whose nonces and tags take memory too.
constexpr std::uint64_t most_a_run = std::uint64_t{1} << 18;
/// Batches of segments in device memory: while the GPU has one in hand, the host deals with the nonces and tags of the
/// others. Below so many segments they are not worth the launches. H200, 2026-11, 65,536 segments of 16 KiB, AES-128: 4
/// batches 538 GB/s, 8 batches 512.
constexpr std::uint64_t device_batches = 4;
constexpr std::uint64_t least_a_device_batch = std::uint64_t{1} << 13;
/// Segments that would need larger staging for a GPU are messages of their own.
constexpr std::uint64_t largest_staged = std::uint64_t{64} << 20;
/// From here on cutting a segment over all lanes is as good as giving each lane its own.
constexpr std::uint64_t worth_cutting = std::uint64_t{4} << 20;

void run_batches(Engine& engine, const SegmentsRequest& r, const Side& in, const Side& out, Ends& ends,
                 SegmentsResult& result) {
    const bool in_device_alone = ends.in.device >= 0 && ends.out.device >= 0;
    const std::uint64_t stride = std::max(in.stride, out.stride);
    std::uint64_t a_chunk = most_a_run;
    if (in_device_alone) {
        a_chunk = std::clamp(r.count / device_batches, least_a_device_batch, most_a_run);
        ends.plan.lanes = r.count > a_chunk ? 2 : 1;
    } else if (stride != 0) {
        a_chunk = std::clamp<std::uint64_t>(ends.plan.chunk_bytes / stride, 1, most_a_run);
    }
    a_chunk = std::min(a_chunk, r.count);
    const bool on_cpu = ends.plan.backend != &cuda_backend();
    // Lanes of the size that other work takes too, if that is enough: the engine keeps them.
    const auto usual = static_cast<std::size_t>(ends.plan.chunk_bytes) + block_bytes;
    const auto needed = static_cast<std::size_t>(a_chunk * stride);
    const bool staged = !on_cpu && !(ends.in.direct && ends.out.direct);
    SegmentsStage stage({.request = r,
                         .in = in,
                         .out = out,
                         .a_chunk = a_chunk,
                         .staging_bytes = !staged           ? 0
                                          : needed <= usual ? usual
                                                            : std::bit_ceil(needed),
                         .aad_digest = store_element(gcm_digest(engine, *r.key, r.aad, r.aad_bytes)),
                         .tags_on_device = r.tags != nullptr && cuda_backend().place(r.tags).kind == Memory::device});
    MemorySource source(ends.in);
    SegmentSink sink(ends.out, out, r.segment_bytes);
    result.notes |= run_pipeline(engine, ends.plan, stage, source, sink).notes;
    result.failures = stage.failures();
    result.first_failure = stage.first_failure();
}

void run_one_by_one(Engine& engine, const SegmentsRequest& r, const Side& in, const Side& out, SegmentsResult& result) {
    const bool encrypt = r.direction == Direction::encrypt;
    for (std::uint64_t i = 0; i < r.count; ++i) {
        const std::uint64_t bytes = i + 1 == r.count ? r.last_bytes : r.segment_bytes;
        const std::uint8_t* input = r.input + i * in.stride;
        std::uint8_t* output = r.output + i * out.stride;
        std::uint8_t* sealed = encrypt ? output : const_cast<std::uint8_t*>(input);
        MessageResult of_one;
        try {
            crypt(engine,
                  {.mode = Mode::gcm,
                   .direction = r.direction,
                   .key = r.key,
                   .iv = {r.nonces + i * gcm_nonce_bytes, gcm_nonce_bytes},
                   .input = input,
                   .input_length = bytes,
                   .output = output,
                   .output_capacity = bytes,
                   .range = std::nullopt,
                   .aad = r.aad,
                   .aad_length = r.aad_bytes,
                   .tag = r.tags != nullptr ? r.tags + i * block_bytes : sealed + bytes,
                   .tag_length = block_bytes},
                  of_one);
        } catch (const Error& e) {
            if (e.status() != WARPAES_ERROR_AUTHENTICATION) throw;
            if (result.failures++ == 0) result.first_failure = i;
        }
        result.notes |= of_one.notes;
    }
}

}  // namespace

void crypt_segments(Engine& engine, const SegmentsRequest& r, SegmentsResult& result) {
    check(r);
    if (r.count == 0) return;
    const bool encrypt = r.direction == Direction::encrypt;
    const Side text = side_of(r, "plaintext_stride", r.plaintext_stride, 0);
    const Side sealed = side_of(r, "ciphertext_stride", r.ciphertext_stride, r.tags == nullptr ? block_bytes : 0);
    const Side& in = encrypt ? text : sealed;
    const Side& out = encrypt ? sealed : text;
    check_buffers(r, in, out);

    Executor executor(engine, r.input, r.output, std::nullopt);
    executor.wait_for_buffers();
    const int device = executor.data_device();
    Ends ends = plan_ends(
        engine, {.mode = Mode::gcm, .direction = r.direction, .key_bits = r.key->bits(), .memory = executor.memory()},
        {r.input, static_cast<std::size_t>(in.span)}, {r.output, static_cast<std::size_t>(out.span)}, device);
    result.backend = ends.plan.backend->name();
    result.device = ends.plan.devices.front();
    const bool on_cpu = ends.plan.backend != &cuda_backend();
    const bool cut = on_cpu ? r.segment_bytes >= worth_cutting && r.count < 2 * ends.plan.lanes
                            : r.segment_bytes > largest_staged && !(ends.in.device >= 0 && ends.out.device >= 0);
    try {
        if (cut) {
            run_one_by_one(engine, r, in, out, result);
        } else {
            run_batches(engine, r, in, out, ends, result);
        }
    } catch (const std::exception&) {
        if (!encrypt) clear_after_failure(r.output, static_cast<std::size_t>(out.span), executor.output_device());
        throw;
    }
    if (result.failures != 0) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "input: segment " + std::to_string(result.first_failure) +
                                                      " is not authentic, as " + std::to_string(result.failures) +
                                                      " of " + std::to_string(r.count) + " are not");
    }
}

}  // namespace warpaes
