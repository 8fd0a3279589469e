#include "format/forward_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/engine.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

/// Bounds on the amount of ciphertext opened at a time: with the minimum, short reads do not open segments one by one,
/// and the maximum limits memory use. A segment of any size is opened as a whole.
constexpr std::uint64_t least_step_bytes = std::uint64_t{64} << 10, most_step_bytes = std::uint64_t{8} << 20;

}  // namespace

ForwardReader::ForwardReader(Engine& engine, std::unique_ptr<Source> source, std::span<const StreamKey* const> keys,
                             std::span<const std::uint8_t> aad)
    : engine_(engine),
      source_(std::move(source)),
      beginning_(*source_, beginning_needed(keys, KeyTrial::first_segment)) {
    OpenedFile opened = open_file(engine, keys, aad, beginning_, KeyTrial::first_segment);
    cipher_ = std::move(opened.cipher);
    format_ = opened.key->parameters.format;
    fetched_ = cipher_->layout().header_bytes;
}

std::uint64_t ForwardReader::read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) {
    home_.require("reader", "only close is possible; the process that opened it can still read");
    const std::lock_guard lock(mutex_);
    if (!failure_ && offset != position_) {
        throw Error(WARPAES_ERROR_RANGE, "offset: is " + std::to_string(offset) +
                                             ", but this source cannot seek: its next byte is " +
                                             std::to_string(position_));
    }
    if (length == 0) return 0;
    const Located out(output);
    try {
        if (failure_) throw Error(*failure_);
        // Lanes do not wait for work that the caller has enqueued on the default stream.
        wait_for_device(out.device());
        const std::uint64_t got = text_at_ < text_end_ ? take(out, length) : open_next(out, length);
        position_ += got;
        if (size_ && position_ == *size_) known_size_ = position_;
        return got;
    } catch (const Error& error) {
        failure_.emplace(error);
        clear_after_failure(engine_, output, static_cast<std::size_t>(length), out.device());
        throw;
    } catch (...) {
        failure_.emplace(WARPAES_ERROR_STATE, "reader: failed earlier; only close is possible");
        clear_after_failure(engine_, output, static_cast<std::size_t>(length), out.device());
        throw;
    }
}

/// Copies plaintext that has already been opened.
std::uint64_t ForwardReader::take(const Located& output, std::uint64_t length) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, text_end_ - text_at_));
    copy_memory(output.data, text_->data() + text_at_, n, output.device());
    text_at_ += n;
    return n;
}

/// Opens the next segments, as many as `length` requires and the source provides, directly into the output if they fit.
std::uint64_t ForwardReader::open_next(const Located& output, std::uint64_t length) {
    if (size_) return 0;
    const SegmentLayout& layout = cipher_->layout();
    const std::uint64_t wanted = std::clamp(length, least_step_bytes, most_step_bytes);
    const std::uint64_t count = std::max<std::uint64_t>(1, wanted / (layout.text + layout.tag));
    const std::uint64_t begin = layout.file_offset(next_);
    // One extra byte, if present, shows that the segment is not the last.
    fetch(layout.file_offset(next_ + 1) - begin + 1, layout.file_offset(next_ + count) - begin + 1);

    SegmentRange range = next_range(count);
    std::uint64_t bytes = text_bytes(layout, range);
    const bool direct = output.device() < 0 && bytes <= length;
    if (!direct && (text_ == nullptr || text_->size() < bytes)) {
        text_ = std::make_unique<SecretBuffer>(static_cast<std::size_t>(bytes));
    }
    open(range, direct ? output.data : text_->data());
    bytes = text_bytes(layout, range);
    const auto used = static_cast<std::size_t>(sealed_bytes(layout, range));
    std::memmove(sealed_.data(), sealed_.data() + used, have_ - used);
    have_ -= used;
    next_ += range.count;
    if (range.ends) size_ = layout.text_bytes(fetched_);
    if (direct) return bytes;
    text_at_ = 0;
    text_end_ = static_cast<std::size_t>(bytes);
    return take(output, length);
}

/// Reads until there are `least` bytes of ciphertext, or the source ends. Reads at most `most` bytes.
void ForwardReader::fetch(std::uint64_t least, std::uint64_t most) {
    while (!ended_ && have_ < least) {
        // The buffer grows with the data: a short file with long segments uses little memory.
        const std::uint64_t room = std::min<std::uint64_t>(most, std::max<std::uint64_t>(2 * have_, least_step_bytes));
        if (sealed_.size() < room) sealed_.resize(static_cast<std::size_t>(room));
        const std::size_t limit = std::min<std::size_t>(sealed_.size(), static_cast<std::size_t>(most));
        const std::size_t n = beginning_.read_some(fetched_, std::span(sealed_).first(limit).subspan(have_));
        ended_ = n == 0;
        have_ += n;
        fetched_ += n;
    }
}

/// Returns the number of full segments that are available and followed by at least one byte.
std::uint64_t ForwardReader::whole_segments() const noexcept {
    const SegmentLayout& layout = cipher_->layout();
    const std::uint64_t first = layout.file_offset(next_ + 1) - layout.file_offset(next_);
    return have_ <= first ? 0 : 1 + (have_ - 1 - first) / (layout.text + layout.tag);
}

/// Returns the segments to open: at most `most_segments`, or the rest of the file.
SegmentRange ForwardReader::next_range(std::uint64_t most_segments) {
    const SegmentLayout& layout = cipher_->layout();
    const std::uint64_t whole = std::min(whole_segments(), most_segments);
    if (!ended_ || whole == most_segments) return {next_, whole, 0, false};
    try {
        const std::uint64_t text = layout.text_bytes(fetched_);
        return layout.range(next_, layout.segments_of(text) - next_, text);
    } catch (const Error&) {
        if (whole == 0) throw;
        return {next_, whole, 0, false};  // the segments before the damage
    }
}

/// Opens `range`, or only its segments before the first segment that is not authentic.
void ForwardReader::open(SegmentRange& range, std::uint8_t* output) {
    const SegmentLayout& layout = cipher_->layout();
    for (;;) {
        const std::uint64_t sealed = sealed_bytes(layout, range);
        const Plan plan = plan_segments(engine_, *format_, Direction::decrypt, sealed);
        SegmentStage stage(*cipher_, Direction::decrypt, {plan.chunk_bytes, range.first, range.ends, sealed});
        MemorySource source(locate(plan, sealed_.data(), sealed));
        MemorySink sink(locate(plan, output, text_bytes(layout, range)));
        try {
            run_segments(engine_, plan, stage, source, sink);
            return;
        } catch (const SegmentRefused& refused) {
            if (refused.segment() == range.first) {
                if (range.first == 0) throw;
                throw SegmentRefused(layout, refused.segment(), true);
            }
            range = {range.first, refused.segment() - range.first, 0, false};
        }
    }
}

}  // namespace warpaes
