#include "format/reader.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/key_trial.hpp"
#include "format/segment_stage.hpp"

namespace warpaes {

// ------------------------------------------------------------------------------------------------------------- cache

SegmentCache::Text SegmentCache::find(std::uint64_t segment) {
    const std::lock_guard lock(mutex_);
    const auto it =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.segment == segment; });
    if (it == entries_.end()) return nullptr;
    std::rotate(it, it + 1, entries_.end());
    return entries_.back().text;
}

void SegmentCache::keep(std::uint64_t segment, Text text) {
    const std::lock_guard lock(mutex_);
    // Two threads may have opened the same segment.
    std::erase_if(entries_, [&](const Entry& e) {
        if (e.segment == segment) bytes_ -= e.text->size();
        return e.segment == segment;
    });
    while (!entries_.empty() && (bytes_ + text->size() > most_bytes || entries_.size() == most_segments)) {
        bytes_ -= entries_.front().text->size();
        entries_.erase(entries_.begin());
    }
    bytes_ += text->size();
    entries_.push_back({segment, std::move(text)});
}

// ------------------------------------------------------------------------------------------------------------ reader

namespace {

/// Opens the segments of `range` into `output`; `source` begins with the first segment.
void open_segments(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range, Source& source,
                   const Plan& plan, std::uint8_t* output) {
    const SegmentLayout& layout = cipher.layout();
    const std::uint64_t sealed = sealed_bytes(layout, range);
    SegmentStage stage(cipher, Direction::decrypt, {plan.chunk_bytes, range.first, range.ends, sealed});
    MemorySink sink(locate(plan, output, text_bytes(layout, range)));
    run_segments(engine, plan, stage, source, sink);
}

constexpr std::size_t longest_header(std::span<const StreamKey* const> keys) {
    std::uint64_t bytes = 0;
    for (const StreamKey* key : keys) bytes = std::max(bytes, layout_of(key->parameters).header_bytes);
    return static_cast<std::size_t>(bytes);
}

void read_whole(Source& source, std::uint64_t offset, std::span<std::uint8_t> buffer) {
    if (source.read(offset, buffer) != buffer.size()) {
        throw Error(WARPAES_ERROR_READ, "source: became shorter while it was read");
    }
}

}  // namespace

/// The end of the file. Keys with the same offset of the last segment share one read.
class SegmentReader::Tail {
public:
    explicit Tail(Source& source) : source_(source), begin_(source.size()) {}
    std::span<const std::uint8_t> from(std::uint64_t offset) {
        if (offset < begin_) {
            bytes_.resize(static_cast<std::size_t>(source_.size() - offset));
            read_whole(source_, offset, bytes_);
            begin_ = offset;
        }
        return std::span(bytes_).subspan(static_cast<std::size_t>(offset - begin_));
    }

private:
    Source& source_;
    std::uint64_t begin_;
    std::vector<std::uint8_t> bytes_;
};

SegmentReader::SegmentReader(Engine& engine, std::unique_ptr<Source> source, std::span<const StreamKey* const> keys,
                             std::span<const std::uint8_t> aad)
    : engine_(engine), source_(std::move(source)) {
    std::vector<std::uint8_t> header(std::min<std::uint64_t>(longest_header(keys), source_->size()));
    read_whole(*source_, 0, header);
    Tail tail(*source_);
    try_keys(keys, [&](const StreamKey& key) { try_key(key, aad, header, tail); });
    ahead_ = ReadAhead::over(engine_, *cipher_, *format_, *source_, size_);
}

void SegmentReader::try_key(const StreamKey& key, std::span<const std::uint8_t> aad,
                            std::span<const std::uint8_t> header, Tail& tail) {
    const SegmentLayout layout = layout_of(key.parameters);
    const std::uint64_t size = layout.text_bytes(source_->size());
    std::unique_ptr<SegmentCipher> cipher = open_segment_cipher(key, aad, header);
    const std::uint64_t last = layout.segments_of(size) - 1;
    const SegmentRange range = layout.range(last, 1, size);

    const std::span<const std::uint8_t> sealed = tail.from(layout.file_offset(last));
    auto text = std::make_shared<SecretBuffer>(static_cast<std::size_t>(range.last_text));
    const Plan plan = plan_segments(engine_, *key.parameters.format, Direction::decrypt, sealed.size());
    MemorySource source(locate(plan, sealed.data(), sealed.size()));
    open_segments(engine_, *cipher, range, source, plan, text->data());

    cipher_ = std::move(cipher);
    size_ = size;
    segments_ = last + 1;
    format_ = key.parameters.format;
    cache_.keep(last, std::move(text));
}

std::uint64_t SegmentReader::read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) {
    if (offset > size_) {
        throw Error(WARPAES_ERROR_RANGE, "offset: byte " + std::to_string(offset) + " is beyond the end of the " +
                                             std::to_string(size_) + " bytes");
    }
    length = std::min(length, size_ - offset);
    if (length == 0) return 0;
    check_overlap(output, length);
    const Located out(output);
    try {
        // Lanes do not wait for work that the caller has enqueued on the default stream.
        wait_for_device(out.device());
        fill(offset, out, length);
    } catch (...) {
        clear_after_failure(engine_, output, static_cast<std::size_t>(length), out.device());
        throw;
    }
    return length;
}

void SegmentReader::fill(std::uint64_t offset, const Located& output, std::uint64_t length) {
    const SegmentLayout& layout = cipher_->layout();
    const std::uint64_t end = offset + length;
    std::uint64_t at = offset;
    ReadAhead* const ahead = output.device() < 0 ? ahead_.get() : nullptr;
    if (ahead != nullptr) ahead->expect(offset, length);
    while (at < end) {
        const Located rest = output.behind(at - offset);
        if (ahead != nullptr) {
            const std::uint64_t had = ahead->read(at, rest.data, end - at);
            at += had;
            if (had != 0) continue;
        }
        const std::uint64_t segment = layout.segment_at(at), begin = layout.text_offset(segment);
        if (at == begin && end >= text_end(segment)) {
            const std::uint64_t behind = end == size_ ? layout.segment_at(end - 1) + 1 : layout.segment_at(end);
            const SegmentCache::Text text = behind == segment + 1 ? cache_.find(segment) : nullptr;
            if (text != nullptr) {
                copy_memory(rest.data, text->data(), text->size(), rest.device());
            } else {
                open(layout.range(segment, behind - segment, size_), rest);
            }
            at = text_end(behind - 1);
        } else {
            const std::uint64_t until = std::min(end, text_end(segment));
            const SegmentCache::Text text = text_of(segment);
            copy_memory(rest.data, text->data() + (at - begin), static_cast<std::size_t>(until - at), rest.device());
            at = until;
        }
    }
}

void SegmentReader::open(const SegmentRange& range, const Located& output) {
    const SegmentLayout& layout = cipher_->layout();
    const std::uint64_t at = layout.file_offset(range.first), bytes = sealed_bytes(layout, range);
    const std::uint8_t* memory = source_->data();
    // The slower of source and output determines the kind of memory. A file counts as pageable memory.
    Memory slower = output.place.kind;
    if (slower == Memory::page_locked && (memory == nullptr || place_of(memory).kind != Memory::page_locked)) {
        slower = Memory::pageable;
    }
    Plan plan = plan_segments(engine_, *format_, Direction::decrypt, bytes, slower);
    if (output.device() >= 0) plan.devices = {&output.place.device, 1};
    if (memory != nullptr) {
        MemorySource source(locate(plan, memory + at, bytes));
        open_segments(engine_, *cipher_, range, source, plan, output.data);
    } else {
        SourceSlice source(*source_, at, bytes);
        open_segments(engine_, *cipher_, range, source, plan, output.data);
    }
}

SegmentCache::Text SegmentReader::text_of(std::uint64_t segment) {
    if (SegmentCache::Text text = cache_.find(segment)) return text;
    const SegmentRange one = cipher_->layout().range(segment, 1, size_);
    auto text = std::make_shared<SecretBuffer>(static_cast<std::size_t>(text_bytes(cipher_->layout(), one)));
    open(one, Located(text->data()));
    cache_.keep(segment, text);
    return text;
}

std::uint64_t SegmentReader::text_end(std::uint64_t segment) const noexcept {
    return segment + 1 == segments_ ? size_ : cipher_->layout().text_offset(segment + 1);
}

void SegmentReader::check_overlap(const std::uint8_t* output, std::uint64_t length) const {
    if (source_->data() != nullptr && overlap(output, length, source_->data(), source_->size())) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: overlaps with the source");
    }
}

}  // namespace warpaes
