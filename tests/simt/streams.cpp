// Implements streams, events and launches for the simulated CUDA runtime.
#include <algorithm>
#include <climits>
#include <optional>

#include "runtime.hpp"

namespace simt {
namespace {

/// A DeviceAccess that lasts as long as a kernel runs. It does not hold the lock, so other threads may call the
/// runtime.
class KernelAccess {
public:
    KernelAccess() {
        const std::lock_guard lock(runtime().mutex);
        access_.emplace(runtime(), current_device);
    }
    ~KernelAccess() {
        const std::lock_guard lock(runtime().mutex);
        access_.reset();
    }

private:
    std::optional<DeviceAccess> access_;
};

cudaError_t create_stream(const char* name, cudaStream_t* stream, unsigned flags) {
    return call(name, [&](Runtime& r) {
        if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        *stream = *r.streams.insert(new CUstream_st{current_device, flags, nullptr}).first;
        return cudaSuccess;
    });
}

cudaError_t create_event(const char* name, cudaEvent_t* event, unsigned flags) {
    return call(name, [&](Runtime& r) {
        if (event == nullptr) return cudaErrorInvalidValue;
        *event =
            *r.events.insert(new CUevent_st{.device = current_device, .flags = flags, .when = {}, .mark = {}}).first;
        return cudaSuccess;
    });
}

/// Returns the current end of a stream's queue on a machine where work runs late, otherwise an empty mark.
Mark mark_now(cudaStream_t stream) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    return r.machine.late != 0 && device_of(r, stream) >= 0 ? mark_of(r, stream) : Mark{};
}

Mark mark_now(cudaEvent_t event) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    return r.events.contains(event) ? event->mark : Mark{};
}

/// Checks whether the event can be waited for.
cudaError_t check_event(const Runtime& r, cudaEvent_t event) {
    if (!r.events.contains(event)) return cudaErrorInvalidResourceHandle;
    if (event->capture == nullptr) return cudaSuccess;
    event->capture->spoiled = true;
    return cudaErrorCapturedEvent;
}

/// Makes a stream in capture wait for an event, or makes a stream wait for an event of a capture and join the capture.
cudaError_t wait_in_capture(const Runtime& r, cudaStream_t stream, const CUevent_st& event) {
    const auto own = capture_of(stream);
    if (event.capture == nullptr) {
        if (!event.recorded) return cudaSuccess;
        own->spoiled = true;
        return cudaErrorStreamCaptureIsolation;
    }
    if (!event.capture->active) return cudaErrorCapturedEvent;
    if (own != nullptr && own != event.capture) {
        own->spoiled = event.capture->spoiled = true;
        return cudaErrorStreamCaptureMerge;
    }
    if (!r.streams.contains(stream)) {
        event.capture->spoiled = true;
        return cudaErrorStreamCaptureImplicit;
    }
    stream->capture = event.capture;
    Progress& progress = event.capture->streams[stream];
    for (const auto& [other, done] : event.progress) progress[other] = std::max(progress[other], done);
    return cudaSuccess;
}

/// Runs one piece of the work for each query, so repeated queries eventually succeed.
cudaError_t query(const Mark& mark) {
    finish_next(mark);
    return is_done(mark) ? cudaSuccess : cudaErrorNotReady;
}

std::size_t dynamic_limit(const Runtime& r, const void* kernel) {
    const auto found = r.dynamic_limits.find({current_device, kernel});
    return found == r.dynamic_limits.end() ? default_shared_memory : found->second;
}

cudaError_t check_launch(const Runtime& r, const cudaLaunchConfig_t& config, const void* kernel) {
    if (device_of(r, config.stream) != current_device) return cudaErrorInvalidResourceHandle;
    const auto& [gx, gy, gz] = config.gridDim;
    const auto& [bx, by, bz] = config.blockDim;
    const bool empty = gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0;
    if (empty || gx > max_grid_x || gy > max_grid_yz || gz > max_grid_yz || bx > max_threads_per_block ||
        by > max_threads_per_block || bz > 64 || bx * by * bz > max_threads_per_block) {
        return cudaErrorInvalidConfiguration;
    }
    if (config.dynamicSmemBytes > dynamic_limit(r, kernel)) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const auto& [id, pad, value] = config.attrs[i];
        const auto& cluster = value.clusterDim;
        if (id == cudaLaunchAttributeClusterDimension && (cluster.x > 1 || cluster.y > 1 || cluster.z > 1)) {
            return cudaErrorNotSupported;  // the simulator does not support this
        }
        if (id == cudaLaunchAttributeCooperative && value.cooperative != 0) return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, const Launch& launch) {
    const auto later = [&] {
        return [launch, kept = launch.keep(launch.arguments), grid = config.gridDim, block = config.blockDim,
                shared_bytes = config.dynamicSmemBytes] {
            const KernelAccess access;
            execute(grid, block, shared_bytes, {launch.kernel, launch.run, kept.get(), nullptr});
        };
    };
    bool captured = false;
    const cudaError_t error = call("cudaLaunchKernelEx", [&](Runtime& r) {
        cudaError_t refused = check_launch(r, config, launch.kernel);
        if (refused == cudaSuccess) refused = refuse_stream(r, config.stream);
        if (refused != cudaSuccess) return refused;
        if (r.launch_observer) r.launch_observer(config);
        captured = capture_of(config.stream) != nullptr && capture_work(config.stream, later());
        return cudaSuccess;
    });
    if (error != cudaSuccess || captured) return error;
    if (is_late()) {
        const auto run = later();
        {
            Runtime& r = runtime();
            const std::lock_guard lock(r.mutex);
            put(r, config.stream, {.run = run, .after = {}});
        }
        run_ahead();
        return cudaSuccess;
    }
    const KernelAccess access;
    execute(config.gridDim, config.blockDim, config.dynamicSmemBytes, launch);
    return cudaSuccess;
}

}  // namespace simt

using namespace simt;

// Streams and events.

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return create_stream("cudaStreamCreate", stream, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    return create_stream("cudaStreamCreateWithFlags", stream, flags);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
    return create_stream("cudaStreamCreateWithPriority", stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call("cudaStreamDestroy", [&](Runtime& r) {
        if (!r.streams.contains(stream)) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t refusal = refuse_wait(stream); refusal != cudaSuccess) return refusal;
        r.streams.erase(stream);
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    finish(mark_now(stream));  // finishes the work even before an injected error, so no work is in flight then
    return on_stream("cudaStreamSynchronize", stream, [&](Runtime&) { return refuse_wait(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const Mark mark = mark_now(stream);
    const cudaError_t error = on_stream("cudaStreamQuery", stream, [&](Runtime&) { return refuse_wait(stream); });
    return error == cudaSuccess ? query(mark) : error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
    return on_stream("cudaStreamWaitEvent", stream, [&](Runtime& r) {
        if (!r.events.contains(event)) return cudaErrorInvalidResourceHandle;
        if (event->capture != nullptr || capture_of(stream) != nullptr) return wait_in_capture(r, stream, *event);
        if (event->mark.queue != nullptr) put(r, stream, {.run = {}, .after = event->mark});
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
    return about_stream("cudaStreamGetFlags", stream, [&](Runtime& r) {
        *flags = r.streams.contains(stream) ? stream->flags : cudaStreamDefault;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return about_stream("cudaStreamGetDevice", stream, [&](Runtime& r) {
        *device = device_of(r, stream);
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
    bool at_once = false;
    const cudaError_t error = on_stream("cudaLaunchHostFunc", stream, [&](Runtime& r) {
        if (function == nullptr) return cudaErrorInvalidValue;
        if (capture_work(stream, [=] { function(user_data); })) return cudaSuccess;
        at_once = r.machine.late == 0;
        if (!at_once) put(r, stream, {.run = [=] { function(user_data); }, .after = {}});
        return cudaSuccess;
    });
    if (at_once) function(user_data);
    return error;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return create_event("cudaEventCreate", event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return create_event("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return on_stream("cudaEventRecord", stream, [&](Runtime& r) {
        if (!r.events.contains(event) || event->device != device_of(r, stream)) return cudaErrorInvalidResourceHandle;
        event->recorded = true;
        event->capture = capture_of(stream);
        event->mark = {};
        if (event->capture != nullptr) {
            event->progress = event->capture->streams.at(stream);
            return cudaSuccess;
        }
        event->mark = r.machine.late != 0 ? mark_of(r, stream) : Mark{};
        event->when = std::chrono::steady_clock::now();
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    finish(mark_now(event));
    return call("cudaEventSynchronize", [&](Runtime& r) { return check_event(r, event); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const Mark mark = mark_now(event);
    const cudaError_t error = call("cudaEventQuery", [&](Runtime& r) { return check_event(r, event); });
    return error == cudaSuccess ? query(mark) : error;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call("cudaEventElapsedTime", [&](Runtime& r) {
        for (const cudaEvent_t event : {start, end}) {
            if (!r.events.contains(event) || !event->recorded || (event->flags & cudaEventDisableTiming) != 0) {
                return cudaErrorInvalidResourceHandle;
            }
        }
        *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call("cudaEventDestroy", [&](Runtime& r) {
        if (r.events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
        delete event;
        return cudaSuccess;
    });
}

// Kernels.

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    return call("cudaFuncSetAttribute", [&](Runtime& r) {
        if (function == nullptr) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
        const auto bytes = static_cast<std::size_t>(value);
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            bytes > r.machine.shared_memory_per_block) {
            return cudaErrorInvalidValue;
        }
        r.dynamic_limits[{current_device, function}] = bytes;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    return call("cudaFuncGetAttributes", [&](Runtime& r) {
        if (function == nullptr) return cudaErrorInvalidDeviceFunction;
        *attributes = {};
        attributes->maxThreadsPerBlock = static_cast<int>(max_threads_per_block);
        attributes->numRegs = 64;
        attributes->ptxVersion = attributes->binaryVersion = r.machine.major * 10 + r.machine.minor;
        attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_limit(r, function));
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          std::size_t dynamic_shared_bytes) {
    return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Runtime& r) {
        if (function == nullptr) return cudaErrorInvalidDeviceFunction;
        if (block_size <= 0) return cudaErrorInvalidValue;
        *blocks = 0;
        if (block_size > static_cast<int>(max_threads_per_block)) return cudaSuccess;
        if (dynamic_shared_bytes > dynamic_limit(r, function)) return cudaSuccess;
        const int warps = (block_size + warpSize - 1) / warpSize;
        const Machine& m = r.machine;
        const std::size_t each = std::max<std::size_t>(dynamic_shared_bytes + m.reserved_shared_memory, 1);
        const std::size_t by_memory = std::min<std::size_t>(multiprocessor_shared_memory(r) / each, INT_MAX);
        *blocks = std::min({m.blocks_per_multiprocessor, m.threads_per_multiprocessor / (warps * warpSize),
                            static_cast<int>(by_memory)});
        return cudaSuccess;
    });
}
