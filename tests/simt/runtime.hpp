// Shared code for the parts of the simulated CUDA runtime: the machine's state, and the beginning of every call. A
// single lock guards everything. Work on streams runs during the call or late (queue.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "capture.hpp"
#include "executor.hpp"
#include "queue.hpp"
#include "simt.hpp"

struct CUstream_st {
    int device;
    unsigned flags;
    std::shared_ptr<simt::Queue> queue;
    std::shared_ptr<simt::Capture> capture = nullptr;  ///< the capture that the stream takes part in, or null
};
struct CUevent_st {
    int device;
    unsigned flags;
    bool recorded = false;
    std::chrono::steady_clock::time_point when;
    simt::Mark mark;
    std::shared_ptr<simt::Capture> capture = nullptr;  ///< the capture that last recorded it, or null
    simt::Progress progress = {};                      ///< the progress of that capture when it was recorded
};

struct CUuserObject_st {
    void* pointer;
    cudaHostFn_t destroy;
    unsigned references;
};

namespace simt {

inline constexpr std::size_t default_shared_memory = 48 * 1024;
inline constexpr unsigned max_threads_per_block = 1024;
inline constexpr unsigned max_grid_x = 0x7fffffff;
inline constexpr unsigned max_grid_yz = 65535;
inline constexpr std::size_t texture_alignment = 256;

enum class Origin { device, managed, host, registered };

struct Allocation {
    std::size_t bytes;
    Origin origin;
    int device;
    bool of_graph = false;    ///< whether it belongs to a graph, which frees it
    bool pooled = false;      ///< whether it lies in a pool's blocks
    std::size_t guarded = 0;  ///< bytes in the allocation's own pages on a guarded machine, otherwise 0
    [[nodiscard]] bool on_device() const { return origin == Origin::device; }
    [[nodiscard]] cudaMemoryType type() const {
        if (origin == Origin::device) return cudaMemoryTypeDevice;
        return origin == Origin::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    }
};

/// A device's memory pool, which allocates memory in blocks and keeps the blocks.
struct Pool {
    static constexpr std::size_t block = std::size_t{32} << 20;
    std::size_t reserved = 0, used = 0, threshold = 0;
};

struct Texture {
    const void* memory;
    std::size_t bytes, texel_bytes;
};

struct FailingCalls {
    std::string function;
    std::uint64_t first;  ///< the number of the first call that fails, counted since the last reset
    std::uint64_t last;
    cudaError_t error;
};

using Observer = std::function<void(cudaMemoryType, std::span<const std::uint8_t>)>;
using CallObserver = std::function<void(std::string_view)>;
using LaunchObserver = std::function<void(const cudaLaunchConfig_t&)>;

/// The state of the runtime. It is never destroyed, because the library's static objects may free memory at exit.
struct Runtime {
    std::recursive_mutex mutex;
    Machine machine;
    std::map<std::uintptr_t, Allocation> allocations;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    std::map<int, Pool> pools;  ///< by device
    std::map<cudaTextureObject_t, Texture> textures;
    cudaTextureObject_t last_texture = 0;
    /// Limits by device and kernel, because CUDA's cudaFuncSetAttribute applies to the current device.
    std::map<std::pair<int, const void*>, std::size_t> dynamic_limits;
    std::map<std::string, std::uint64_t, std::less<>> calls;
    std::vector<FailingCalls> failures;
    Observer observer;
    LaunchObserver launch_observer;
    std::atomic<bool> calls_observed{false};
    CallObserver call_observer;
    std::vector<std::shared_ptr<Capture>> captures;  ///< captures that have begun but not ended
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> graph_execs;
    std::set<cudaUserObject_t> user_objects;

    /// The queues of all streams with deferred work, including the default streams.
    std::vector<std::shared_ptr<Queue>> queues;
    std::map<int, std::shared_ptr<Queue>> legacy;
    std::map<std::pair<int, std::thread::id>, std::shared_ptr<Queue>> per_thread;
    std::condition_variable_any changed;  ///< notified after each piece of work
    std::minstd_rand chance;              ///< selects the queues that run ahead

    /// The number of threads that access each device's memory; see DeviceAccess.
    std::map<int, int> accesses;

    Runtime() { restart(Machine::from_environment()); }
    void restart(const Machine& new_machine);
    void fail_call(std::string_view function, int nth, cudaError_t error, int times);
    [[nodiscard]] std::uint64_t count(std::string_view function) const;
    /// Counts a call to `function`. Returns the error if the call must fail, otherwise cudaSuccess.
    [[nodiscard]] cudaError_t failure_of(std::string_view function);

    /// Returns the allocation that contains `pointer`, with its first address.
    [[nodiscard]] const std::pair<const std::uintptr_t, Allocation>* find(const void* pointer) const;
    /// Returns the number of bytes of a device's memory that are in use.
    [[nodiscard]] std::size_t used(int device) const;
};

Runtime& runtime();

/// Frees memory that a graph allocated.
void free_device_memory(Runtime& r, void* pointer);

/// Releases references to a user object, and destroys the object with the last reference.
void release(Runtime& r, cudaUserObject_t object, unsigned references);

inline thread_local int current_device = 0;
inline thread_local cudaError_t last_error = cudaSuccess;

void observe_call(Runtime& r, std::string_view name);

/// Stores an error for cudaGetLastError and returns it.
cudaError_t record(cudaError_t error);

/// Implements a call to the function `name`. Counts the call, fails if a test requested a failure or if there is no
/// device, and otherwise runs `body` under the lock.
template <typename Body>
cudaError_t call(const char* name, Body body) {
    if (in_kernel()) fail(name, Where::current());
    Runtime& r = runtime();
    if (r.calls_observed) observe_call(r, name);
    std::unique_lock lock(r.mutex);
    if (const cudaError_t failure = r.failure_of(name); failure != cudaSuccess) return record(failure);
    if (const cudaError_t refusal = refuse_unsafe(r, name); refusal != cudaSuccess) return record(refusal);
    const cudaError_t error = body(r);
    lock.unlock();
    run_ahead();
    return record(error);
}

inline bool is_device(const Runtime& r, int device) {
    return 0 <= device && device < r.machine.devices;
}

inline std::size_t multiprocessor_shared_memory(const Runtime& r) {
    return r.machine.shared_memory_per_block + r.machine.reserved_shared_memory;
}

/// Returns the device of a stream, or -1 if the stream does not exist.
int device_of(const Runtime& r, cudaStream_t stream);

/// Implements a call that concerns a stream but not its work.
template <typename Body>
cudaError_t about_stream(const char* name, cudaStream_t stream, Body body) {
    return call(name, [&](Runtime& r) { return device_of(r, stream) < 0 ? cudaErrorInvalidResourceHandle : body(r); });
}

/// Implements a call that concerns a stream's work.
template <typename Body>
cudaError_t on_stream(const char* name, cudaStream_t stream, Body body) {
    return about_stream(name, stream, [&](Runtime& r) {
        const cudaError_t refusal = refuse_stream(r, stream);
        return refusal != cudaSuccess ? refusal : body(r);
    });
}

/// Implements a call that enqueues work. `check` runs during the call. `work`, which cannot fail, runs during the call
/// or late. Both run under the lock.
template <typename Check, typename Body>
cudaError_t enqueue(const char* name, cudaStream_t stream, std::vector<Use> uses, Check check, Body work) {
    return on_stream(name, stream, [&](Runtime& r) {
        const cudaError_t error = check(r);
        if (error != cudaSuccess) return error;
        const auto run = [work] {
            const std::lock_guard lock(runtime().mutex);
            work(runtime());
        };
        if (capture_work(stream, run)) return cudaSuccess;
        if (r.machine.late == 0) {
            work(r);
            return cudaSuccess;
        }
        put(r, stream, {.run = run, .after = {}, .uses = std::move(uses)});
        return cudaSuccess;
    });
}

/// Permits access to a device's memory during this object's lifetime. Under AddressSanitizer and on a guarded machine,
/// all other accesses are detected, such as a host or another device's kernel that dereferences the pointer. This
/// object must be constructed and destroyed under the lock.
class DeviceAccess {
public:
    DeviceAccess(Runtime& runtime, int device);
    ~DeviceAccess();
    DeviceAccess(const DeviceAccess&) = delete;
    DeviceAccess& operator=(const DeviceAccess&) = delete;

private:
    Runtime& runtime_;
    int device_;
};

}  // namespace simt
