// Implements streams in capture and graphs for the simulated CUDA runtime.
#include "capture.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime.hpp"

namespace simt {
namespace {

/// Calls that a capture prohibits: calls that can wait for work, and calls whose effect a replay of the graph would not
/// repeat. tests/simulated/capture_rules_test.cpp compares this list with a GPU's driver.
constexpr std::array unsafe{
    "cudaDeviceReset",
    "cudaDeviceSynchronize",
    "cudaEventQuery",
    "cudaEventSynchronize",
    "cudaFree",
    "cudaFreeHost",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMalloc",
    "cudaMallocFromPoolAsync",  // on a stream that is not in capture; on a stream in capture, this table refuses more
                                // calls than CUDA does
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaMemPoolCreate",
    "cudaMemcpy",
    "cudaMemcpyToSymbol",
    "cudaMemset",
    "cudaStreamDestroy",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
};

bool is_legacy(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy;
}

bool is_handle(cudaStream_t stream) {
    return !is_legacy(stream) && stream != cudaStreamPerThread;
}

/// Returns whether the capture prohibits unsafe calls on this thread.
bool prohibits(const Capture& capture) {
    if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
    if (capture.thread == std::this_thread::get_id()) return capture.mode != cudaStreamCaptureModeRelaxed;
    return thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

/// The legacy stream waits for blocking streams, which a capture cannot express.
bool meets_legacy_stream(const Capture& capture) {
    return capture.device == current_device &&
           std::any_of(capture.streams.begin(), capture.streams.end(),
                       [](const auto& its) { return (its.first->flags & cudaStreamNonBlocking) == 0; });
}

void leave(Runtime& r, const std::shared_ptr<Capture>& capture) {
    capture->active = false;
    for (const auto& [stream, progress] : capture->streams) {
        if (r.streams.contains(stream)) stream->capture = nullptr;
    }
    std::erase(r.captures, capture);
}

/// Returns whether the capture's origin has waited for all work on the streams that took part.
bool is_joined(const Capture& capture) {
    const Progress& seen = capture.streams.at(capture.origin);
    return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const auto& its) {
        const auto& [stream, progress] = its;
        const auto done = progress.find(stream), found = seen.find(stream);
        return done == progress.end() || (found != seen.end() && found->second >= done->second);
    });
}

cudaError_t status_of(const Runtime& r, cudaStream_t stream, cudaStreamCaptureStatus* status, cudaGraph_t* graph) {
    if (is_legacy(stream) && std::any_of(r.captures.begin(), r.captures.end(),
                                         [](const auto& capture) { return meets_legacy_stream(*capture); })) {
        return cudaErrorStreamCaptureImplicit;
    }
    const auto capture = capture_of(stream);
    *status = capture == nullptr ? cudaStreamCaptureStatusNone
              : capture->spoiled ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
    if (graph != nullptr) *graph = *status == cudaStreamCaptureStatusActive ? capture->graph.get() : nullptr;
    return cudaSuccess;
}

}  // namespace

Nodes::~Nodes() {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    for (const auto& [object, references] : objects) release(r, object, references);
    for (void* const pointer : memory) free_device_memory(r, pointer);
}

cudaError_t refuse_unsafe(Runtime& r, std::string_view function) {
    if (r.captures.empty() || std::find(unsafe.begin(), unsafe.end(), function) == unsafe.end()) return cudaSuccess;
    bool refused = false;
    for (const auto& capture : r.captures) {
        // Waiting for a device also waits for its streams in capture, in any mode.
        const bool waits = function.starts_with("cudaDevice") && capture->device == current_device;
        if (!waits && !prohibits(*capture)) continue;
        capture->spoiled = refused = true;
    }
    return refused ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t refuse_stream(Runtime& r, cudaStream_t stream) {
    if (r.captures.empty()) return cudaSuccess;
    if (is_legacy(stream)) {
        bool refused = false;
        for (const auto& capture : r.captures) {
            if (meets_legacy_stream(*capture)) capture->spoiled = refused = true;
        }
        return refused ? cudaErrorStreamCaptureImplicit : cudaSuccess;
    }
    const auto capture = capture_of(stream);
    return capture != nullptr && capture->spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t refuse_wait(cudaStream_t stream) {
    const auto capture = capture_of(stream);
    if (capture == nullptr) return cudaSuccess;
    capture->spoiled = true;
    return cudaErrorStreamCaptureUnsupported;
}

std::shared_ptr<Capture> capture_of(cudaStream_t stream) {
    return is_handle(stream) ? stream->capture : nullptr;
}

bool capture_work(cudaStream_t stream, std::function<void()> run) {
    const auto capture = capture_of(stream);
    if (capture == nullptr) return false;
    ++capture->streams[stream][stream];
    capture->graph->its->nodes.push_back({std::move(run), stream->device});
    return true;
}

bool capture_memory(cudaStream_t stream, void* pointer) {
    const auto capture = capture_of(stream);
    if (capture == nullptr) return false;
    capture->graph->its->memory.push_back(pointer);
    return true;
}

void drop_captures(Runtime& r) {
    while (!r.captures.empty()) leave(r, std::shared_ptr(r.captures.back()));
}

}  // namespace simt

using namespace simt;

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return call("cudaThreadExchangeStreamCaptureMode", [&](Runtime&) {
        std::swap(thread_mode, *mode);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return about_stream("cudaStreamBeginCapture", stream, [&](Runtime& r) {
        if (is_legacy(stream)) return cudaErrorStreamCaptureUnsupported;
        if (!is_handle(stream)) return cudaErrorNotSupported;  // the simulator does not support this
        if (stream->capture != nullptr) return cudaErrorIllegalState;
        auto capture = std::make_shared<Capture>(Capture{.origin = stream,
                                                         .device = stream->device,
                                                         .mode = mode,
                                                         .thread = std::this_thread::get_id(),
                                                         .streams = {{stream, {}}},
                                                         .graph = std::make_unique<CUgraph_st>()});
        stream->capture = capture;
        r.captures.push_back(std::move(capture));
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    std::unique_ptr<CUgraph_st> made;  // an invalidated graph is destroyed without the lock
    return about_stream("cudaStreamEndCapture", stream, [&](Runtime& r) {
        *graph = nullptr;
        const auto capture = capture_of(stream);
        if (capture == nullptr) return cudaErrorIllegalState;
        if (capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
        if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
            return cudaErrorStreamCaptureWrongThread;
        }
        leave(r, capture);
        made = std::move(capture->graph);
        if (capture->spoiled) return cudaErrorStreamCaptureInvalidated;
        if (!is_joined(*capture)) return cudaErrorStreamCaptureUnjoined;
        *graph = *r.graphs.insert(made.release()).first;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return about_stream("cudaStreamIsCapturing", stream,
                        [&](Runtime& r) { return status_of(r, stream, status, nullptr); });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long*,
                                     cudaGraph_t* graph, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                     std::size_t*) {
    return about_stream("cudaStreamGetCaptureInfo", stream,
                        [&](Runtime& r) { return status_of(r, stream, status, graph); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    return call("cudaGraphInstantiate", [&](Runtime& r) {
        if (!r.graphs.contains(graph) || flags != 0) return cudaErrorInvalidValue;
        *exec = *r.graph_execs.insert(new CUgraphExec_st{graph->its}).first;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    std::shared_ptr<Nodes> at_once;
    const cudaError_t error = on_stream("cudaGraphLaunch", stream, [&](Runtime& r) {
        if (!r.graph_execs.contains(exec)) return cudaErrorInvalidValue;
        const std::shared_ptr<Nodes> its = exec->its;
        if (capture_of(stream) != nullptr) return cudaErrorNotSupported;  // the simulator does not support this
        if (r.machine.late == 0) {
            at_once = its;
            return cudaSuccess;
        }
        for (std::size_t i = 0; i < its->nodes.size(); ++i) {
            put(r, stream, {.run = [its, i] { its->nodes[i].run(); }, .after = {}});
        }
        return cudaSuccess;
    });
    if (at_once == nullptr) return error;
    for (const Nodes::Node& node : at_once->nodes) {
        const int before = std::exchange(current_device, node.device);
        node.run();
        current_device = before;
    }
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    std::unique_ptr<CUgraphExec_st> gone;
    return call("cudaGraphExecDestroy", [&](Runtime& r) {
        if (r.graph_execs.erase(exec) == 0) return cudaErrorInvalidValue;
        gone.reset(exec);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    std::unique_ptr<CUgraph_st> gone;
    return call("cudaGraphDestroy", [&](Runtime& r) {
        if (r.graphs.erase(graph) == 0) return cudaErrorInvalidValue;
        gone.reset(graph);
        return cudaSuccess;
    });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int flags) {
    return call("cudaUserObjectCreate", [&](Runtime& r) {
        if (object == nullptr || destroy == nullptr || references == 0 || flags != cudaUserObjectNoDestructorSync) {
            return cudaErrorInvalidValue;
        }
        *object = *r.user_objects.insert(new CUuserObject_st{pointer, destroy, references}).first;
        return cudaSuccess;
    });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
    return call("cudaUserObjectRelease", [&](Runtime& r) {
        if (!r.user_objects.contains(object) || count == 0 || count > object->references) return cudaErrorInvalidValue;
        release(r, object, count);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
    return call("cudaGraphRetainUserObject", [&](Runtime& r) {
        const bool known =
            r.graphs.contains(graph) || std::any_of(r.captures.begin(), r.captures.end(),
                                                    [&](const auto& capture) { return capture->graph.get() == graph; });
        if (!known || !r.user_objects.contains(object) || count == 0) return cudaErrorInvalidValue;
        if ((flags & cudaGraphUserObjectMove) == 0) object->references += count;
        graph->its->objects.emplace_back(object, count);
        return cudaSuccess;
    });
}
