#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "cuda/batch_work.hpp"
#include "cuda/kernels/key_slot.hpp"
#include "cuda/stream_batch.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

/// Returns the graph that `stream` is captured into, or null.
cudaGraph_t graph_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr),
          "querying the captured graph");
#else
    check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr),
          "querying the captured graph");
#endif
    if (status == cudaStreamCaptureStatusInvalidated) {
        throw Error(WARPAES_ERROR_DEVICE, "cuda_stream: its capture has already failed");
    }
    return status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

}  // namespace

void StreamBatches::keep_some() noexcept {
    constexpr std::size_t side = 16 << 10, scratch = std::size_t{1} << 20, slots = 16 * key_slot_bytes;
    try {
        auto slot = std::make_unique<Slot>();
        slot->memory.side.keep(side);
        slot->memory.device_side.keep(side);
        slot->memory.scratch.keep(scratch);
        slot->memory.slots.keep(slots);
        slot->busy = false;
        slots_.push_back(std::move(slot));
    } catch (const std::exception&) {
        // Calls that need the memory will report the failure.
    }
}

StreamBatches::Slot& StreamBatches::take(bool captured) {
    const std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) {
        if (slot->by_event && try_to(cudaEventQuery(slot->memory.done.get()))) {
            slot->by_event = false;
            slot->busy = false;
        }
        // A captured batch may keep its slot for long, so it uses none that other batches have allocated.
        if (captured && !slot->for_graphs) continue;
        if (!slot->busy.exchange(true)) {
            slot->memory.may_free(!captured);  // a captured batch must not wait for the device
            return *slot;
        }
    }
    Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.for_graphs = captured;
    slot.memory.may_free(!captured);
    return slot;
}

void StreamBatches::let_go(void* slot) noexcept {
    Slot& its = *static_cast<Slot*>(slot);
    its.memory.side.wipe();
    its.busy = false;
}

void StreamBatches::let_go_with(cudaGraph_t graph, Slot& slot) {
    cudaUserObject_t object = nullptr;
    try {
        check(cudaUserObjectCreate(
                  &object, &slot, [](void* its) { let_go(its); }, 1, cudaUserObjectNoDestructorSync),
              "creating a graph's object");
    } catch (...) {
        let_go(&slot);
        throw;
    }
    try {
        check(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), "passing an object to a graph");
    } catch (...) {
        try_to(cudaUserObjectRelease(object, 1));  // which releases the slot
        throw;
    }
}

void StreamBatches::enqueue(int device, const DeviceLimits& limits, CopyQueues& queues,
                            std::span<const MessageGroup> groups, cudaStream_t stream) {
    const cudaGraph_t graph = graph_of(stream);
    Slot& slot = take(graph != nullptr);
    if (graph != nullptr) let_go_with(graph, slot);
    try {
        const BatchContext context{device, limits, queues, nullptr, stream, slot.memory, nullptr};
        BatchWork work(context, slot.memory, MergedGroups(groups));
        work.get_ready();
        const bool secret = work.enqueue_and_leave();
        if (graph != nullptr) return;
        if (secret) {
            check(cudaLaunchHostFunc(
                      stream, [](void* its) { let_go(its); }, &slot),
                  "enqueuing a host function");
        } else {
            slot.by_event = true;
        }
    } catch (...) {
        if (graph == nullptr) {
            try_to(cudaStreamSynchronize(stream));
            let_go(&slot);
        }
        throw;
    }
}

}  // namespace warpaes::cuda
