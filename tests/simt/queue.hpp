// Streams whose work runs as late as CUDA allows (Machine::late): in stream order, and only when the host or other due
// work waits for it. A consumer that lacks the required wait therefore runs first and finds the old data. With a seed,
// some streams also run early, as soon as their work does not have to wait. If another stream's work should come first
// but no wait enforces this order, the other work then comes too late.
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

/// A point in a queue, after its first `position` pieces of work.
struct Mark {
    std::shared_ptr<Queue> queue;
    std::uint64_t position = 0;
};

/// Memory that pending work will access.
struct Use {
    const void* pointer = nullptr;
    std::size_t bytes = 0;
};

struct Work {
    std::function<void()> run;  ///< called without holding the lock
    Mark after;                 ///< work that must run first
    std::vector<Use> uses = {};
    int device = 0;
};

struct Queue {
    explicit Queue(int its_device) : device(its_device) {}
    int device;
    std::deque<Work> work;
    std::uint64_t put = 0, done = 0;
    bool busy = false;  ///< a thread is running the queue's next piece of work
};

/// Returns the queue of an existing stream. First makes the queue wait for the work that CUDA orders before the
/// stream's next work, because the legacy default stream and the blocking streams wait for each other. The caller must
/// hold the lock. This applies to all functions here except is_late(), is_done(), finish*() and run_ahead().
std::shared_ptr<Queue> queue_of(Runtime& runtime, cudaStream_t stream);
/// Returns the current end of the stream's queue.
Mark mark_of(Runtime& runtime, cudaStream_t stream);
void put(Runtime& runtime, cudaStream_t stream, Work work);
/// Aborts the process if pending work uses the memory, which is about to be freed.
void check_unused(const Runtime& runtime, const void* pointer, std::size_t bytes);
/// Drops all pending work, as if the device had failed permanently.
void drop_work(Runtime& runtime);

[[nodiscard]] bool is_late();
[[nodiscard]] bool is_done(const Mark& mark);
/// Run all work before the mark, or only the next piece of this work.
void finish(const Mark& mark);
void finish_next(const Mark& mark);
/// Runs work that this thread has put into queues, if the queue was selected at random and the work does not have to
/// wait.
void run_ahead();
/// Runs the work of all streams.
void finish_all();

}  // namespace simt
