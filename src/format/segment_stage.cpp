#include "format/segment_stage.hpp"

#include <algorithm>
#include <bit>

namespace warpaes {

namespace {

/// The limit for the staging buffers of all workers together. It matters only for very large segments.
constexpr std::uint64_t most_staging_bytes = std::uint64_t{256} << 20;

std::uint64_t segments_a_chunk(const SegmentLayout& layout, std::uint64_t chunk_bytes) {
    return std::max<std::uint64_t>(1, chunk_bytes / (layout.text + layout.tag));
}

StageNeeds needs_of(const SegmentLayout& layout, const SegmentWork& work) {
    const std::uint64_t segments = segments_a_chunk(layout, work.chunk_bytes);
    std::uint64_t bytes = segments * (layout.text + layout.tag) + layout.tag;  // an empty segment may follow a full
                                                                               // segment
    if (work.input_bytes < bytes) {
        // Rounded to a power of two, so that there are few different sizes: the engine pools lanes by size.
        bytes = std::min(bytes, std::bit_ceil(work.input_bytes + (work.input_bytes / layout.text + 2) * layout.tag));
    }
    StageNeeds needs;
    needs.staging_bytes = static_cast<std::size_t>(bytes);
    needs.in_place = segments == 1 && !layout.last_is_shorter;
    return needs;
}

}  // namespace

SegmentStage::SegmentStage(const SegmentCipher& cipher, Direction direction, const SegmentWork& work)
    : Stage(needs_of(cipher.layout(), work)),
      cipher_(cipher),
      direction_(direction),
      a_chunk_(segments_a_chunk(cipher.layout(), work.chunk_bytes)),
      first_(work.first),
      ends_(work.ends) {}

std::uint64_t SegmentStage::input_offset(std::uint64_t chunk) const {
    const SegmentLayout& layout = cipher_.layout();
    return direction_ == Direction::encrypt ? layout.text_offset(begin(chunk)) - layout.text_offset(first_)
                                            : layout.file_offset(begin(chunk)) - layout.file_offset(first_);
}

std::uint64_t SegmentStage::output_offset(std::uint64_t chunk) const {
    const SegmentLayout& layout = cipher_.layout();
    return direction_ == Direction::encrypt ? layout.file_offset(begin(chunk)) - layout.file_offset(first_)
                                            : layout.text_offset(begin(chunk)) - layout.text_offset(first_);
}

std::uint64_t SegmentStage::chunks(std::uint64_t bytes) const {
    const std::uint64_t count = range_of(first_, bytes, ends_).count;
    return count / a_chunk_ + (count % a_chunk_ != 0);
}

void SegmentStage::check_length(std::uint64_t bytes) const {
    (void)range_of(first_, bytes, ends_);
}

SegmentRange SegmentStage::range_of(std::uint64_t first, std::uint64_t input_bytes, bool ends) const {
    const SegmentLayout& layout = cipher_.layout();
    const bool encrypt = direction_ == Direction::encrypt;
    if (ends) {
        const std::uint64_t text = encrypt ? layout.text_offset(first) + input_bytes
                                           : layout.text_bytes(layout.file_offset(first) + input_bytes);
        return layout.range(first, layout.segments_of(text) - first, text);
    }
    const std::uint64_t tag = encrypt ? 0 : layout.tag;
    const std::uint64_t begin = first == 0 ? layout.first_text + tag : 0;
    return {first, (first == 0 ? 1 : 0) + (input_bytes - begin) / (layout.text + tag), 0, false};
}

void SegmentStage::process(Lane& lane, Chunk& chunk) {
    const SegmentRange range = range_of(begin(chunk.index), chunk.input_bytes, chunk.last && ends_);
    auto* input = const_cast<std::uint8_t*>(chunk.input);  // process() only reads it
    if (direction_ == Direction::encrypt) {
        cipher_.process(lane, direction_, range, input, chunk.output);
        chunk.output_bytes = static_cast<std::size_t>(sealed_bytes(cipher_.layout(), range));
    } else {
        cipher_.process(lane, direction_, range, chunk.output, input);
        chunk.output_bytes = static_cast<std::size_t>(text_bytes(cipher_.layout(), range));
    }
}

Plan plan_segments(const Engine& engine, const SegmentFormat& format, Direction direction, std::uint64_t bytes,
                   Memory memory) {
    // A GPU would not help, so it is used only if it was requested by name.
    if (format.cpu_bound && !is_on_device(memory)) {
        return engine.plan(Mode::ctr, direction, Engine::unknown_length, memory);
    }
    return engine.plan(Mode::gcm, direction, bytes, memory);
}

Totals run_segments(Engine& engine, Plan plan, SegmentStage& stage, Source& source, Sink& sink,
                    const Progress& progress) {
    const std::uint64_t staging = 2 * std::max<std::uint64_t>(1, stage.needs().staging_bytes);
    std::uint64_t lanes = std::min<std::uint64_t>(plan.lanes, most_staging_bytes / staging);
    if (source.size() != Engine::unknown_length) lanes = std::min(lanes, stage.chunks(source.size()));
    plan.lanes = static_cast<unsigned>(std::max<std::uint64_t>(1, lanes));
    return run_pipeline(engine, plan, stage, source, sink, progress);
}

std::uint64_t text_bytes(const SegmentLayout& layout, const SegmentRange& range) {
    const std::uint64_t begin = layout.text_offset(range.first);
    if (!range.ends) return layout.text_offset(range.first + range.count) - begin;
    return layout.text_offset(range.first + range.count - 1) - begin + range.last_text;
}

std::uint64_t sealed_bytes(const SegmentLayout& layout, const SegmentRange& range) {
    return text_bytes(layout, range) + range.count * layout.tag;
}

}  // namespace warpaes
