// The processing step of a pipeline: how the work is cut into chunks, and how each chunk is processed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/backend.hpp"

namespace warpaes {

/// The part of the work that one worker is processing.
struct Chunk {
    std::uint64_t index = 0;
    std::uint64_t input_offset = 0;
    std::size_t input_bytes = 0;
    std::uint64_t output_offset = 0;
    std::size_t output_bytes = 0;  ///< set by the stage
    bool last = false;
    const std::uint8_t* input = nullptr;
    std::uint8_t* output = nullptr;  ///< equal to `input` or disjoint from it
    Block before{};                  ///< with Before::read or Before::saved: the input just before the chunk,
                                     ///< right-aligned
};

/// Whether a chunk needs the 16 bytes of input before it (fewer bytes at the beginning of the input).
enum class Before {
    unneeded,
    read,
    saved  ///< saved before anything is written, because source and sink are the same memory
};

struct StageNeeds {
    /// The largest input or output of a chunk, in bytes.
    std::size_t staging_bytes = 0;
    /// Whether chunks may be read and written in place in the caller's memory. Otherwise `input` is the worker's own
    /// staging buffer, which the stage may change, up to staging_bytes.
    bool direct = true;
    /// Whether the output may overwrite the input in a staging buffer.
    bool in_place = true;
    /// Whether chunks are processed in order, one at a time.
    bool in_turn = false;
    Before before = Before::unneeded;
};

class Stage {
public:
    explicit Stage(const StageNeeds& needs) : needs_(needs) {}
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    virtual ~Stage() = default;

    [[nodiscard]] const StageNeeds& needs() const noexcept { return needs_; }

    /// The offset of a chunk in the input and in the output. Each chunk except the last ends where the next chunk
    /// begins.
    [[nodiscard]] virtual std::uint64_t input_offset(std::uint64_t chunk) const = 0;
    [[nodiscard]] virtual std::uint64_t output_offset(std::uint64_t chunk) const = 0;
    /// The number of chunks for an input of `bytes` bytes; at least one.
    [[nodiscard]] virtual std::uint64_t chunks(std::uint64_t bytes) const = 0;
    /// Throws if no valid input has this length. Called before the first chunk if the length is known, otherwise before
    /// the last chunk.
    virtual void check_length(std::uint64_t /*bytes*/) const {}
    /// Processes the chunk and sets chunk.output_bytes. Called by many threads at once, or in the order of the chunks
    /// if the stage requires it. If it throws, it may be called again for the same chunk with another lane.
    virtual void process(Lane& lane, Chunk& chunk) = 0;

private:
    StageNeeds needs_;
};

/// A stage with chunks of equal size, whose output is as long as its input.
class EvenStage : public Stage {
public:
    EvenStage(const StageNeeds& needs, std::uint64_t chunk_bytes) : Stage(needs), chunk_bytes_(chunk_bytes) {}
    std::uint64_t input_offset(std::uint64_t chunk) const override { return chunk * chunk_bytes_; }
    std::uint64_t output_offset(std::uint64_t chunk) const override { return chunk * chunk_bytes_; }
    std::uint64_t chunks(std::uint64_t bytes) const override {
        return std::max<std::uint64_t>(1, bytes / chunk_bytes_ + (bytes % chunk_bytes_ != 0));
    }

private:
    std::uint64_t chunk_bytes_;
};

}  // namespace warpaes
