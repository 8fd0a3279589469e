#include "message/segments.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aes/ghash.hpp"
#include "base/error.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "message/gcm.hpp"
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
    if (r.tags != nullptr && overlap(r.tags, r.count * block_bytes, r.output, out.span)) {
        throw Error(WARPAES_ERROR_OVERLAP, "tags: lie in the output");
    }
}

/// Neighbouring segments, as one chunk of the pipeline and one run of a lane.
class BatchStage final : public Stage {
public:
    struct Setup {
        const SegmentsRequest& request;
        Side in, out;
        int in_device, out_device;  ///< of buffers that a lane works on as they lie
        std::uint64_t a_chunk;      ///< segments
        std::size_t staging_bytes;
        Block aad_digest;
    };

    explicit BatchStage(const Setup& setup)
        : Stage({.staging_bytes = setup.staging_bytes, .in_place = false}), s_(setup), r_(setup.request) {}

    std::uint64_t input_offset(std::uint64_t chunk) const override { return chunk * s_.a_chunk * s_.in.stride; }
    std::uint64_t output_offset(std::uint64_t chunk) const override { return chunk * s_.a_chunk * s_.out.stride; }
    std::uint64_t chunks(std::uint64_t /*bytes*/) const override { return (r_.count + s_.a_chunk - 1) / s_.a_chunk; }

    void process(Lane& lane, Chunk& chunk) override {
        const std::uint64_t first = chunk.index * s_.a_chunk;
        const std::uint64_t count = std::min(s_.a_chunk, r_.count - first);
        const std::uint64_t last = first + count == r_.count ? r_.last_bytes : r_.segment_bytes;
        const auto n = static_cast<std::size_t>(count);
        const bool encrypt = r_.direction == Direction::encrypt;

        const auto j0 = std::make_unique_for_overwrite<Block[]>(n);
        for (std::size_t i = 0; i < n; ++i) {
            j0[i] = pre_counter(std::span<const std::uint8_t, gcm_nonce_bytes>(
                r_.nonces + (first + i) * gcm_nonce_bytes, gcm_nonce_bytes));
        }
        const Tags tags(n), expected(encrypt ? 0 : n);
        // Before the run, which in place may overwrite them.
        if (!encrypt) move_tags(expected, false, first, n, last, const_cast<std::uint8_t*>(chunk.input), s_.in_device);
        lane.run_gcm({.direction = r_.direction,
                      .key = r_.key,
                      .input = chunk.input,
                      .output = chunk.output,
                      .count = count,
                      .segment_bytes = r_.segment_bytes,
                      .last_bytes = last,
                      .input_stride = chunk.input == chunk.output ? s_.out.stride : s_.in.stride,
                      .output_stride = s_.out.stride,
                      .j0 = j0.get(),
                      .public_counters = true,
                      .result = GcmRun::Result::tag,
                      .aad_digest = s_.aad_digest,
                      .aad_bytes = r_.aad_bytes,
                      .results = tags.get()});
        chunk.output_bytes = static_cast<std::size_t>((count - 1) * s_.out.stride + last + s_.out.tag_bytes);
        if (encrypt) {
            move_tags(tags, true, first, n, last, chunk.output, s_.out_device);
        } else {
            compare(tags, expected, first, n, last, chunk.output);
        }
    }

    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
    [[nodiscard]] std::uint64_t first_failure() const noexcept { return first_failure_; }

private:
    /// Tags, also those that a forger would like to know: wiped.
    class Tags {
    public:
        explicit Tags(std::size_t n) : n_(n), blocks_(std::make_unique_for_overwrite<Block[]>(n)) {}
        ~Tags() { wipe({reinterpret_cast<std::uint8_t*>(blocks_.get()), n_ * block_bytes}); }
        Tags(const Tags&) = delete;
        Tags& operator=(const Tags&) = delete;
        [[nodiscard]] Block* get() const noexcept { return blocks_.get(); }
        [[nodiscard]] Block& operator[](std::size_t i) const noexcept { return blocks_[i]; }

    private:
        std::size_t n_;
        std::unique_ptr<Block[]> blocks_;
    };

    /// Copies the tags of `n` segments from `first` on to where the caller keeps them, or from there. `sealed`: their
    /// ciphertext, which lies on `device` if that is not -1.
    void move_tags(const Tags& tags, bool out, std::uint64_t first, std::size_t n, std::uint64_t last,
                   std::uint8_t* sealed, int device) const {
        if (r_.tags != nullptr) {
            std::uint8_t* theirs = r_.tags + first * block_bytes;
            auto* ours = reinterpret_cast<std::uint8_t*>(tags.get());
            copy_anywhere(out ? theirs : ours, out ? ours : theirs, n * block_bytes);
            return;
        }
        const auto stride = static_cast<std::size_t>(out ? s_.out.stride : s_.in.stride);
        move_rows(tags.get(), sealed + r_.segment_bytes, stride, n - 1, out, device);
        move_rows(tags.get() + (n - 1), sealed + (n - 1) * stride + last, stride, 1, out, device);
    }
    static void move_rows(Block* tags, std::uint8_t* theirs, std::size_t stride, std::size_t rows, bool out,
                          int device) {
        if (rows == 0) return;
        if (device >= 0) {
            void* to = out ? static_cast<void*>(theirs) : tags;
            const void* from = out ? static_cast<const void*>(tags) : theirs;
            cuda_backend().copy_rows(to, out ? stride : block_bytes, from, out ? block_bytes : stride, block_bytes,
                                     rows, device, nullptr);
            return;
        }
        for (std::size_t i = 0; i < rows; ++i) {
            std::uint8_t* at = theirs + i * stride;
            std::memcpy(out ? at : tags[i].data(), out ? tags[i].data() : at, block_bytes);
        }
    }

    void compare(const Tags& tags, const Tags& expected, std::uint64_t first, std::size_t n, std::uint64_t last,
                 std::uint8_t* output) {
        const auto wrong = [&](std::size_t i) {
            return CRYPTO_memcmp(tags[i].data(), expected[i].data(), block_bytes) != 0;
        };
        for (std::size_t i = 0; i < n; ++i) {
            if (!wrong(i)) continue;
            const std::size_t begin = i;
            while (i + 1 < n && wrong(i + 1)) ++i;
            clear(output, begin, i + 1, i + 1 == n ? last : r_.segment_bytes);
            const std::lock_guard lock(mutex_);
            if (failures_ == 0 || first + begin < first_failure_) first_failure_ = first + begin;
            failures_ += i + 1 - begin;
        }
    }

    /// Overwrites the plaintext of the segments [begin, end), the last of them `last` bytes long.
    void clear(std::uint8_t* output, std::size_t begin, std::size_t end, std::uint64_t last) const {
        if (s_.out_device >= 0) {  // at once, with what lies between them
            const std::uint64_t bytes = (end - 1 - begin) * s_.out.stride + last;
            return clear_memory(output + begin * s_.out.stride, static_cast<std::size_t>(bytes), s_.out_device);
        }
        for (std::size_t i = begin; i < end; ++i) {
            wipe({output + i * s_.out.stride, static_cast<std::size_t>(i + 1 == end ? last : r_.segment_bytes)});
        }
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
    BatchStage stage({.request = r,
                      .in = in,
                      .out = out,
                      .in_device = ends.in.direct ? ends.in.device : -1,
                      .out_device = ends.out.direct ? ends.out.device : -1,
                      .a_chunk = a_chunk,
                      .staging_bytes = !staged           ? 0
                                       : needed <= usual ? usual
                                                         : std::bit_ceil(needed),
                      .aad_digest = store_element(gcm_digest(engine, *r.key, r.aad, r.aad_bytes))});
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
