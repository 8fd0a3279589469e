// Source -> stage -> sink through bounded memory: the one mechanism for everything larger than a chunk, files and
// messages in memory alike.
//
// N workers, the calling thread among them, each with a lane of the engine and one chunk in hand: take the next chunk,
// read, process, write. A step whose order matters (a pipe's reading and writing, a serial mode's processing) is done
// in turns; the others are not held up. So the reading of one chunk, the processing of another and the writing of a
// third overlap without threads of their own for reading and writing, and on a GPU every lane's stream does the same
// for copies and kernels.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/engine.hpp"
#include "engine/pipeline/stage.hpp"
#include "engine/pipeline/stream.hpp"

namespace warpaes {

/// Bytes read so far and their total (Engine::unknown_length for a stream); false cancels. One thread at a time.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

struct Totals : Outcome {
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
};

/// Runs until the source is exhausted. The first failure of any worker stops all and is thrown here; a progress
/// callback that returns false is Error{CANCELLED}.
Totals run_pipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink,
                    const Progress& progress = {});

}  // namespace warpaes
