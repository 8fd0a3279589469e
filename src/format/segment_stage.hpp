// Segments as a stage of the pipeline: a chunk is a few neighbouring ones, which are one batch for a lane.
#pragma once

#include "engine/pipeline/pipeline.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// What a stage is to do. It begins with segment `first`, on both sides and without the header.
struct SegmentWork {
    std::uint64_t chunk_bytes;  ///< as the plan has them; a chunk is at least one segment
    std::uint64_t first = 0;
    bool ends = true;  ///< where the work ends, the file does; otherwise it is whole segments, and others follow
    /// If known, staging is no larger than that takes, whatever the segments are.
    std::uint64_t input_bytes = Engine::unknown_length;
};

class SegmentStage final : public Stage {
public:
    /// `cipher` must outlive it.
    SegmentStage(const SegmentCipher& cipher, Direction direction, const SegmentWork& work);

    std::uint64_t input_offset(std::uint64_t chunk) const override;
    std::uint64_t output_offset(std::uint64_t chunk) const override;
    std::uint64_t chunks(std::uint64_t bytes) const override;
    /// Throws Error{DATA_LENGTH} for too long a plaintext, Error{FORMAT} for the length of no file.
    void check_length(std::uint64_t bytes) const override;
    void process(Lane& lane, Chunk& chunk) override;

private:
    [[nodiscard]] SegmentRange range_of(std::uint64_t first, std::uint64_t input_bytes, bool ends) const;
    [[nodiscard]] std::uint64_t begin(std::uint64_t chunk) const noexcept { return first_ + chunk * a_chunk_; }

    const SegmentCipher& cipher_;
    const Direction direction_;
    const std::uint64_t a_chunk_;
    const std::uint64_t first_;
    const bool ends_;
};

/// The engine's plan for segments, as Engine::plan.
Plan plan_segments(const Engine& engine, SegmentFormat format, Direction direction, std::uint64_t bytes,
                   Memory memory = Memory::pageable);

/// Runs the stage with as many of the plan's lanes as there are chunks for, and as bounded memory has room for.
Totals run_segments(Engine& engine, Plan plan, SegmentStage& stage, Source& source, Sink& sink,
                    const Progress& progress = {});

/// Bytes of plaintext and of ciphertext of neighbouring segments.
std::uint64_t text_bytes(const SegmentLayout& layout, const SegmentRange& range);
std::uint64_t sealed_bytes(const SegmentLayout& layout, const SegmentRange& range);

}  // namespace warpaes
