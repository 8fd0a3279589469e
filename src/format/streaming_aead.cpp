#include "format/streaming_aead.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "format/key_trial.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

/// Takes everything and keeps nothing.
class NoSink final : public Sink {
public:
    bool is_sequential() const noexcept override { return false; }
    void write(std::uint64_t, std::span<const std::uint8_t>) override {}
};

/// Written front to back, so that what is written at once, as a pipe or a caller's descriptor, has no holes if a
/// segment turns out not to be authentic.
class OrderedSink final : public Sink {
public:
    explicit OrderedSink(Sink& sink) : sink_(sink) {}
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override { sink_.write(offset, bytes); }
    void finish() override { sink_.finish(); }
    void on_wait(WaitHook hook) override { sink_.on_wait(std::move(hook)); }

private:
    Sink& sink_;
};

void check(const AeadJob& job) {
    const bool encrypt = job.direction == Direction::encrypt;
    if (job.keyset == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "keyset: is missing");
    if (job.verify && (encrypt || job.range)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: VERIFY is for decryption of the whole");
    }
    if (!job.range) return;
    if (encrypt) throw Error(WARPAES_ERROR_RANGE, "range: of authenticated segments only decryption has ranges");
    check_range(*job.range);
}

FileResult encrypt(Engine& engine, const AeadJob& job) {
    const StreamKey& key = job.keyset->primary();
    const std::unique_ptr<SegmentCipher> cipher = make_segment_cipher(key, job.aad);
    FileSource source = open_source(job.input, job.progress);
    if (source.size() != Engine::unknown_length) (void)cipher->layout().file_bytes(source.size());
    const std::unique_ptr<FileSink> output = open_sink(job.output, job.overwrite, source, job.progress);

    const Plan plan = plan_segments(engine, key.parameters.format, job.direction, source.size());
    SegmentStage stage(*cipher, job.direction, {.chunk_bytes = plan.chunk_bytes, .input_bytes = source.size()});
    output->write(0, cipher->header());
    SinkBehindHeader sink(*output, cipher->header().size());
    const Totals totals = run_segments(engine, plan, stage, source, sink, job.progress);
    output->commit(job.durable);

    FileResult result = result_of(plan, totals, 0, source, output.get());
    result.key_id = key.id;
    return result;
}

/// Authenticates the last segment, and with it the length of the file.
void prove_end(Engine& engine, const SegmentCipher& cipher, std::uint64_t size, Source& source) {
    const SegmentLayout& layout = cipher.layout();
    const std::uint64_t last = layout.segments_of(size) - 1;
    const SegmentRange range{last, 1, size - layout.text_offset(last), true};
    std::vector<std::uint8_t> sealed(static_cast<std::size_t>(sealed_bytes(layout, range)));
    if (source.read(layout.file_offset(last), sealed) != sealed.size()) {
        throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
    }
    authenticate(engine, cipher, range, sealed);
}

/// Whether the first segment opens: then what does not is damage, and not the key.
bool begins_authentic(Engine& engine, const SegmentCipher& cipher, Source& source) {
    if (source.is_sequential() || source.size() == Engine::unknown_length) return false;
    try {
        const SegmentLayout& layout = cipher.layout();
        const std::uint64_t size = layout.text_bytes(source.size());
        const bool only = layout.segments_of(size) == 1;
        const SegmentRange range{0, 1, only ? size : layout.first_text, only};
        std::vector<std::uint8_t> sealed(static_cast<std::size_t>(sealed_bytes(layout, range)));
        if (source.read(layout.file_offset(0), sealed) != sealed.size()) return false;
        authenticate(engine, cipher, range, sealed);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The segments under a range, and what is to be kept of their plaintext.
struct Window {
    std::uint64_t first = 0;  ///< segment
    bool ends = true;
    std::uint64_t begin = 0;  ///< in the file
    std::uint64_t end = 0;
    std::uint64_t skip = 0;
    std::uint64_t keep = 0;
};

Window find_window(Engine& engine, const SegmentCipher& cipher, const ByteRange& range, Source& source) {
    if (source.size() == Engine::unknown_length) {
        throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek; a pipe or an empty file cannot");
    }
    const SegmentLayout& layout = cipher.layout();
    const std::uint64_t size = layout.text_bytes(source.size());
    const bool to_the_end = range.last == Engine::unknown_length;
    // What lies outside is told only of a file whose end is there.
    if (range.first >= size || (!to_the_end && range.last >= size)) prove_end(engine, cipher, size, source);
    const std::uint64_t last = last_byte(range, size);
    const std::uint64_t last_segment = layout.segment_at(last), segments = layout.segments_of(size);
    Window window;
    window.first = layout.segment_at(range.first);
    // C2SP: behind the last byte there may be a segment without any, which shows that the file ends there.
    window.ends = last_segment + 1 == segments || (to_the_end && last_segment + 2 == segments);
    window.begin = layout.file_offset(window.first);
    window.end = window.ends ? source.size() : layout.file_offset(last_segment + 1);
    window.skip = range.first - layout.text_offset(window.first);
    window.keep = last - range.first + 1;
    return window;
}

FileResult decrypt(Engine& engine, const AeadJob& job) {
    const std::vector<const StreamKey*> keys = job.keyset->usable();
    const std::size_t beginning = beginning_needed(keys);
    FileSource file = open_source(job.input, job.progress);
    RewoundSource rewound(file, beginning);
    const OpenedFile opened = open_file(engine, keys, job.aad, rewound);
    const SegmentCipher& cipher = *opened.cipher;

    const std::uint64_t header = cipher.layout().header_bytes;
    Window window;
    std::optional<SourceSlice> content;
    if (job.range) {
        window = find_window(engine, cipher, *job.range, rewound);
        content.emplace(rewound, window.begin, window.end - window.begin);
    } else {
        content.emplace(rewound, header);
    }

    const Plan plan = plan_segments(engine, opened.key->parameters.format, job.direction, content->size());
    std::unique_ptr<FileSink> output;
    NoSink nowhere;
    Sink* sink = &nowhere;
    std::optional<OrderedSink> ordered;
    std::optional<SinkWindow> kept;
    if (!job.verify) {
        output = open_sink(job.output, job.overwrite, file, job.progress);
        sink = output.get();
        if (!output->is_provisional()) sink = &ordered.emplace(*sink);
        if (job.range) sink = &kept.emplace(*sink, window.skip, window.keep);
    }

    SegmentStage stage(
        cipher, job.direction,
        {.chunk_bytes = plan.chunk_bytes, .first = window.first, .ends = window.ends, .input_bytes = content->size()});
    Totals totals;
    try {
        totals = run_segments(engine, plan, stage, *content, *sink, job.progress);
    } catch (const SegmentRefused& refused) {
        if (refused.segment() == 0 || !begins_authentic(engine, cipher, rewound)) throw;
        throw SegmentRefused(cipher.layout(), refused.segment(), true);
    }
    if (output != nullptr) output->commit(job.durable);

    FileResult result = result_of(plan, totals, header, file, output.get());
    result.key_id = opened.key->id;
    return result;
}

}  // namespace

FileResult run_aead(Engine& engine, const AeadJob& job) {
    check(job);
    return job.direction == Direction::encrypt ? encrypt(engine, job) : decrypt(engine, job);
}

}  // namespace warpaes
