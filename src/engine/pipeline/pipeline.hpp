// Source -> stage -> sink through bounded memory: the only mechanism for all data larger than a chunk, both files and
// messages in memory.
//
// There are N workers, including the calling thread. Each has one of the engine's lanes and one chunk at a time: it
// claims the next chunk, then reads, processes and writes it. A step whose order matters (reading and writing a pipe,
// processing in a serial mode) is done in turn, which does not delay the other steps. Reading one chunk, processing
// another and writing a third therefore overlap without separate threads for reading and writing. On a GPU, the streams
// of the lanes overlap copies and kernels in the same way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "aes/types.hpp"
#include "backend/backend.hpp"
#include "base/process.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/stream.hpp"

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

/// Receives the number of input bytes processed so far and the total (Engine::unknown_length for a stream). Returning
/// false cancels the work. Called by one thread at a time.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

struct Totals : Outcome {
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
};

/// Runs until the source is exhausted. The first failure of any worker stops all workers and is rethrown. If the
/// progress callback returns false, throws Error{CANCELLED}.
Totals run_pipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink,
                    const Progress& progress = {});

/// A pipeline that the engine's threads work on while its owner does something else. The constructor's arguments must
/// outlive this object. Only one thread at a time may use this object. In a child process of fork(), this object can
/// only be destroyed, and the destructor does not touch anything that the parent's threads may have locked.
class BegunPipeline {
public:
    /// One of the `plan.lanes` lanes is reserved for the owner and is used from finish() onwards.
    BegunPipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink);
    /// Waits for the chunks that are being processed and drops the other chunks.
    ~BegunPipeline();
    /// Processes the remaining chunks and returns when all chunks are finished. Throws like run_pipeline().
    Totals finish();

private:
    class Work;
    const Home home_;
    std::unique_ptr<Work> work_;
};

}  // namespace warpaes
