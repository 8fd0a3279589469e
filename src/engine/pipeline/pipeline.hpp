// Source -> stage -> sink through bounded memory: the only mechanism for all data larger than a chunk, both files and
// messages in memory.
//
// There are N workers, including the calling thread. Each has one of the engine's lanes and one chunk at a time: it
// claims the next chunk, then reads, processes and writes it. A step whose order matters (reading and writing a pipe,
// processing in a serial mode) is done in turn, which does not delay the other steps. Reading one chunk, processing
// another and writing a third therefore overlap without separate threads for reading and writing. On a GPU, the streams
// of the lanes overlap copies and kernels in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/process.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/stage.hpp"
#include "engine/pipeline/stream.hpp"

namespace warpaes {

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
