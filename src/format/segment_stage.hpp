// Segments as a pipeline stage: a chunk is a few consecutive segments, which the lane runs as one batch.
#pragma once

#include "engine/pipeline/pipeline.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// The stage's work. Input and output begin with segment `first`, without the header.
struct SegmentWork {
    std::uint64_t chunk_bytes;  ///< from the plan; a chunk has at least one segment
    std::uint64_t first = 0;
    bool ends = true;  ///< whether the work ends with the file; otherwise it consists of whole segments, and more
                       ///< segments follow
    /// If known, the staging buffers are no larger than this input requires, regardless of the segment size.
    std::uint64_t input_bytes = Engine::unknown_length;
};

class SegmentStage final : public Stage {
public:
    /// `cipher` must outlive the stage.
    SegmentStage(const SegmentCipher& cipher, Direction direction, const SegmentWork& work);

    std::uint64_t input_offset(std::uint64_t chunk) const override;
    std::uint64_t output_offset(std::uint64_t chunk) const override;
    std::uint64_t chunks(std::uint64_t bytes) const override;
    /// Throws Error{DATA_LENGTH} if the plaintext is too long, and Error{FORMAT} if no file has that length.
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

/// Returns the engine's plan for segments, like Engine::plan().
Plan plan_segments(const Engine& engine, const SegmentFormat& format, Direction direction, std::uint64_t bytes,
                   Memory memory = Memory::pageable);

/// Runs the stage. Uses at most one lane per chunk, and fewer lanes if the staging buffers would otherwise exceed a
/// fixed total size.
Totals run_segments(Engine& engine, Plan plan, SegmentStage& stage, Source& source, Sink& sink,
                    const Progress& progress = {});

/// These functions return the plaintext and ciphertext sizes of consecutive segments.
std::uint64_t text_bytes(const SegmentLayout& layout, const SegmentRange& range);
std::uint64_t sealed_bytes(const SegmentLayout& layout, const SegmentRange& range);

}  // namespace warpaes
