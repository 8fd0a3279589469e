// What a pipeline does to the data: how the work is cut into chunks, and what becomes of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/backend.hpp"

namespace warpaes {

/// A piece of the work in one worker's hands.
struct Chunk {
    std::uint64_t index = 0;
    std::uint64_t input_offset = 0;
    std::size_t input_bytes = 0;
    std::uint64_t output_offset = 0;
    std::size_t output_bytes = 0;  ///< of these the stage tells how many there are
    bool last = false;
    const std::uint8_t* input = nullptr;
    std::uint8_t* output = nullptr;  ///< equal to `input` or disjoint
    Block before{};                  ///< with Before::read or saved: the input just before it, right-aligned
};

/// Whether a chunk needs the 16 bytes of input before it (fewer at the beginning).
enum class Before {
    unneeded,
    read,
    saved  ///< before anything is written: source and sink are the same memory
};

struct StageNeeds {
    /// The most that a chunk takes, on the way in or out.
    std::size_t staging_bytes = 0;
    /// Chunks may be read and written as they lie in memory; otherwise `input` is the worker's own staging, and the
    /// stage may change it, up to staging_bytes.
    bool direct = true;
    /// Within staging the output may take the place of the input.
    bool in_place = true;
    /// Chunks are processed one after the other.
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

    /// Where a chunk begins, in the input and in the output. One that is not the last ends where the next begins.
    [[nodiscard]] virtual std::uint64_t input_offset(std::uint64_t chunk) const = 0;
    [[nodiscard]] virtual std::uint64_t output_offset(std::uint64_t chunk) const = 0;
    /// Chunks of an input of `bytes` bytes; at least one.
    [[nodiscard]] virtual std::uint64_t chunks(std::uint64_t bytes) const = 0;
    /// Throws if no input has so many bytes: before the first chunk where the length is known, else before the last.
    virtual void check_length(std::uint64_t /*bytes*/) const {}
    /// Does the work and sets chunk.output_bytes. Called by many threads at once, or one after the other in the order
    /// of the chunks if that is needed. After it has thrown, it may be called again for the same chunk with another
    /// lane.
    virtual void process(Lane& lane, Chunk& chunk) = 0;

private:
    StageNeeds needs_;
};

/// Equal chunks, each as long on the way out as on the way in.
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
