// Streams whose work runs as late as CUDA allows (Machine::late): in the order of its stream, when the host waits for
// it, or when another stream's work does that is due. What forgot to wait comes first, then, and finds what was there
// before.
// With a seed some streams go ahead with what waits for nothing: what others were to do first is done too late, then.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace simt {

struct Runtime;
struct Queue;

/// A point of a queue: after its first `position` pieces of work.
struct Mark {
    std::shared_ptr<Queue> queue;
    std::uint64_t position = 0;
};

/// Memory that work will come by.
struct Use {
    const void* pointer = nullptr;
    std::size_t bytes = 0;
};

struct Work {
    std::function<void()> run;  ///< called without the lock
    Mark after;                 ///< what has to be done before
    std::vector<Use> uses = {};
    int device = 0;
};

struct Queue {
    explicit Queue(int its_device) : device(its_device) {}
    int device;
    std::deque<Work> work;
    std::uint64_t put = 0, done = 0;
    bool busy = false;  ///< a thread is at its next piece of work
};

/// The queue of a stream that exists, after everything that CUDA orders before the stream's next work: that of the
/// legacy default stream and of the streams that wait for it. Under the lock, as all of these but finish*().
std::shared_ptr<Queue> queue_of(Runtime& runtime, cudaStream_t stream);
/// What the stream holds now.
Mark mark_of(Runtime& runtime, cudaStream_t stream);
void put(Runtime& runtime, cudaStream_t stream, Work work);
/// Nothing that is to come may use it: it is about to go.
void check_unused(const Runtime& runtime, const void* pointer, std::size_t bytes);
/// A device that fails from now on does no more work.
void drop_work(Runtime& runtime);

[[nodiscard]] bool is_late();
[[nodiscard]] bool is_done(const Mark& mark);
/// Does what is before the mark; or the next piece of it alone.
void finish(const Mark& mark);
void finish_next(const Mark& mark);
/// What the thread has put into queues, as far as chance lets them go ahead and nothing else has to be done before.
void run_ahead();
/// What all streams hold.
void finish_all();

}  // namespace simt
