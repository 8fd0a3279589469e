// Implements streams whose work runs late for the simulated CUDA runtime.
#include "queue.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime.hpp"

namespace simt {
namespace {

/// The queues that run ahead when the current call ends.
thread_local std::vector<std::shared_ptr<Queue>> ahead;

bool is_legacy(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy;
}

std::shared_ptr<Queue> make_queue(Runtime& r, int device) {
    // Drops the queues of destroyed streams that have no work left.
    std::erase_if(r.queues, [](const auto& queue) { return queue.use_count() == 1 && queue->work.empty(); });
    return r.queues.emplace_back(std::make_shared<Queue>(device));
}

std::shared_ptr<Queue>& own_queue(Runtime& r, cudaStream_t stream) {
    std::shared_ptr<Queue>* queue = nullptr;
    if (is_legacy(stream)) {
        queue = &r.legacy[current_device];
    } else if (stream == cudaStreamPerThread) {
        queue = &r.per_thread[{current_device, std::this_thread::get_id()}];
    } else {
        queue = &stream->queue;
    }
    if (*queue == nullptr) *queue = make_queue(r, device_of(r, stream));
    return *queue;
}

void put_into(Queue& queue, Work work) {
    work.device = queue.device;
    queue.work.push_back(std::move(work));
    ++queue.put;
}

void put_wait(Queue& queue, const std::shared_ptr<Queue>& other) {
    if (other != nullptr && other->device == queue.device && other->done < other->put) {
        put_into(queue, {.run = {}, .after = {other, other->put}});
    }
}

/// Runs the next piece of a queue's work, or waits for the thread that is running it.
void do_next(Runtime& r, Queue& queue, std::unique_lock<std::recursive_mutex>& lock) {
    if (queue.busy) {
        r.changed.wait(lock);
        return;
    }
    queue.busy = true;
    {
        const Work work = std::move(queue.work.front());
        queue.work.pop_front();
        lock.unlock();
        finish(work.after);
        if (work.run) {
            const int before = std::exchange(current_device, work.device);
            work.run();
            current_device = before;
        }
    }
    lock.lock();
    queue.busy = false;
    ++queue.done;
    r.changed.notify_all();
}

}  // namespace

std::shared_ptr<Queue> queue_of(Runtime& r, cudaStream_t stream) {
    const std::shared_ptr<Queue> queue = own_queue(r, stream);
    if (is_legacy(stream)) {
        for (const cudaStream_t other : r.streams) {
            if ((other->flags & cudaStreamNonBlocking) == 0) put_wait(*queue, other->queue);
        }
        for (const auto& [key, other] : r.per_thread) put_wait(*queue, other);
    } else if (stream == cudaStreamPerThread || (stream->flags & cudaStreamNonBlocking) == 0) {
        put_wait(*queue, r.legacy[queue->device]);
    }
    return queue;
}

Mark mark_of(Runtime& r, cudaStream_t stream) {
    const std::shared_ptr<Queue> queue = queue_of(r, stream);
    return {queue, queue->put};
}

void put(Runtime& r, cudaStream_t stream, Work work) {
    const std::shared_ptr<Queue> queue = queue_of(r, stream);
    put_into(*queue, std::move(work));
    if (r.machine.late > 1 && r.chance() % 2 == 0) ahead.push_back(queue);
}

void run_ahead() {
    if (ahead.empty()) return;
    std::unique_lock lock(runtime().mutex);
    for (const auto& queue : std::exchange(ahead, {})) {
        while (!queue->busy && !queue->work.empty() && is_done(queue->work.front().after)) {
            do_next(runtime(), *queue, lock);
        }
    }
}

void check_unused(const Runtime& r, const void* pointer, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    for (const auto& queue : r.queues) {
        for (const Work& work : queue->work) {
            for (const Use& use : work.uses) {
                const auto at = reinterpret_cast<std::uintptr_t>(use.pointer);
                if (at >= begin + bytes || begin >= at + use.bytes) continue;
                std::fprintf(stderr, "simt: memory goes that work on a stream is still to come by\n");
                std::fflush(stderr);
                std::abort();
            }
        }
    }
}

void drop_work(Runtime& r) {
    for (const auto& queue : r.queues) {
        queue->work.clear();
        queue->done = queue->put - (queue->busy ? 1 : 0);
    }
    r.changed.notify_all();
}

bool is_late() {
    const std::lock_guard lock(runtime().mutex);
    return runtime().machine.late != 0;
}

bool is_done(const Mark& mark) {
    const std::lock_guard lock(runtime().mutex);
    return mark.queue == nullptr || mark.queue->done >= mark.position;
}

void finish(const Mark& mark) {
    if (mark.queue == nullptr) return;
    std::unique_lock lock(runtime().mutex);
    while (mark.queue->done < mark.position) do_next(runtime(), *mark.queue, lock);
}

void finish_next(const Mark& mark) {
    std::unique_lock lock(runtime().mutex);
    if (mark.queue != nullptr && mark.queue->done < mark.position) do_next(runtime(), *mark.queue, lock);
}

void finish_all() {
    std::vector<Mark> marks;
    {
        Runtime& r = runtime();
        const std::lock_guard lock(r.mutex);
        for (const auto& queue : r.queues) marks.push_back({queue, queue->put});
    }
    // The newest stream comes first, because CUDA guarantees no order between streams.
    std::for_each(marks.rbegin(), marks.rend(), [](const Mark& mark) { finish(mark); });
}

}  // namespace simt
