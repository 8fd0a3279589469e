// Source -> stage -> sink through bounded memory: the one mechanism for everything larger than a chunk, files and
// messages in memory alike.
//
// N workers, the calling thread among them, each with a lane of the engine and one chunk in hand: take the next chunk,
// read, process, write. A step whose order matters (a pipe's reading and writing, a serial mode's processing) is done
// in turns; the others are not held up. So the reading of one chunk, the processing of another and the writing of a
// third overlap without threads of their own for reading and writing, and on a GPU every lane's stream does the same
// for copies and kernels.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

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

/// A pipeline that the engine's threads work on while its owner does something else. What it is made of must outlive
/// it. One thread at a time; in a child process of fork() it can only be destroyed, which leaves alone what the
/// parent's threads may have locked.
class BegunPipeline {
public:
    /// `plan.lanes`: one of them is its owner's, from finish() on.
    BegunPipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink);
    /// Waits for the chunks that are in somebody's hands, and leaves out the rest.
    ~BegunPipeline();
    /// Does what is left, and returns when all is done; throws as run_pipeline().
    Totals finish();

private:
    class Work;
    const pid_t process_;
    std::unique_ptr<Work> work_;
};

}  // namespace warpaes
