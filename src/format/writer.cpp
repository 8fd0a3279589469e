#include "format/writer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/segment_stage.hpp"

namespace warpaes {

namespace {

/// The maximum amount of plaintext that waits to be encrypted. At least one segment waits, regardless of its size.
constexpr std::uint64_t most_pending_bytes = std::uint64_t{32} << 20;

}  // namespace

SegmentWriter::SegmentWriter(Engine& engine, std::unique_ptr<Sink> sink, std::function<void()> commit,
                             const StreamKey& key, std::span<const std::uint8_t> aad)
    : engine_(engine),
      sink_(std::move(sink)),
      commit_(std::move(commit)),
      cipher_(make_segment_cipher(key, aad)),
      format_(*key.parameters.format) {
    const SegmentLayout& layout = cipher_->layout();
    const Plan plan = plan_segments(engine, format_, Direction::encrypt, Engine::unknown_length);
    const std::uint64_t wanted = std::min(most_pending_bytes, plan.chunk_bytes * plan.lanes);
    pending_segments_ = std::max<std::uint64_t>(1, wanted / (layout.text + layout.tag));
    sink_->write(0, cipher_->header());
}

SegmentWriter::~SegmentWriter() {
    wipe({pending_.get(), pending_most_});
}

void SegmentWriter::begin_step() {
    home_.require("writer", "only close is possible; open another writer in this process");
    if (state_ == State::failed) throw Error(WARPAES_ERROR_STATE, "writer: failed earlier; only close is possible");
    if (state_ == State::finished) throw Error(WARPAES_ERROR_STATE, "writer: has finished; only close is possible");
    state_ = State::failed;  // until the step succeeds
}

void SegmentWriter::write(const std::uint8_t* input, std::uint64_t length) {
    begin_step();
    if (length > Engine::unknown_length - total_) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "length: the file would exceed the maximum size");
    }
    (void)cipher_->layout().segments_of(total_ + length);
    if (length != 0) take(Located(input), length);
    state_ = State::open;
}

void SegmentWriter::take(Located input, std::uint64_t length) {
    // Lanes do not wait for work that the caller has enqueued on the default stream.
    wait_for_device(input.device());
    const SegmentLayout& layout = cipher_->layout();
    while (length != 0) {
        const std::uint64_t room = room_from(next_);
        std::uint64_t n = 0;
        if (pending_bytes_ == room) {
            seal_pending(false);
        } else if (pending_bytes_ == 0 && length > room) {
            // Encrypts directly from the caller's memory, except for the segment that contains the last byte, which
            // waits.
            const std::uint64_t begin = layout.text_offset(next_);
            n = layout.text_offset(layout.segment_at(begin + length - 1)) - begin;
            seal(input, n, false);
        } else {
            n = std::min(room - pending_bytes_, length);
            if (pending_ == nullptr) {
                const std::uint64_t most = std::max(room, room_from(next_ + 1));
                pending_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(most));
            }
            copy_memory(pending_.get() + pending_bytes_, input.data, static_cast<std::size_t>(n), input.device());
            pending_bytes_ += static_cast<std::size_t>(n);
            pending_most_ = std::max(pending_most_, pending_bytes_);
        }
        input.data += n;
        length -= n;
        total_ += n;
    }
}

/// Returns the number of bytes that may be pending, counted from the beginning of `segment`.
std::uint64_t SegmentWriter::room_from(std::uint64_t segment) const noexcept {
    const SegmentLayout& layout = cipher_->layout();
    return layout.text_offset(segment + pending_segments_) - layout.text_offset(segment);
}

void SegmentWriter::seal(const Located& input, std::uint64_t bytes, bool ends) {
    const SegmentLayout& layout = cipher_->layout();
    Plan plan = plan_segments(engine_, format_, Direction::encrypt, bytes,
                              input.device() >= 0 ? Memory::device : Memory::pageable);
    if (input.device() >= 0) plan.devices = {&input.place.device, 1};
    SegmentStage stage(*cipher_, Direction::encrypt, {plan.chunk_bytes, next_, ends, bytes});
    MemorySource source(locate(plan, input.data, bytes));
    const std::uint64_t begin = layout.file_offset(next_);
    if (!ends) next_ = layout.segment_at(layout.text_offset(next_) + bytes);
    SinkSlice part(sink_.get(), begin, 0, ends ? Engine::unknown_length : layout.file_offset(next_) - begin);
    run_segments(engine_, plan, stage, source, part);
}

void SegmentWriter::seal_pending(bool ends) {
    seal(Located(pending_.get()), pending_bytes_, ends);
    pending_bytes_ = 0;
}

void SegmentWriter::finish() {
    begin_step();
    seal_pending(true);
    commit_();
    state_ = State::finished;
}

}  // namespace warpaes
