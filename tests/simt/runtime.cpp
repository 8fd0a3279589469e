// The simulated CUDA runtime: a machine, its memory and handles, and failures on request. One lock over everything;
// work on streams happens within the call.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "executor.hpp"
#include "simt.hpp"

struct CUstream_st {
    int device;
    unsigned flags;
};
struct CUevent_st {
    int device;
    unsigned flags;
    bool recorded = false;
    std::chrono::steady_clock::time_point when;
};

namespace simt {
namespace {

constexpr std::size_t default_shared_memory = 48 * 1024;
constexpr std::size_t reserved_shared_memory = 1024;
constexpr unsigned max_threads_per_block = 1024;
constexpr int max_threads_per_multiprocessor = 2048;
constexpr int max_blocks_per_multiprocessor = 32;
constexpr unsigned max_grid_x = 0x7fffffff;
constexpr unsigned max_grid_yz = 65535;
constexpr int l2_bytes = 50 << 20;

enum class Origin { device, managed, host, registered };

struct Allocation {
    std::size_t bytes;
    Origin origin;
    int device;
    [[nodiscard]] cudaMemoryType type() const {
        if (origin == Origin::device) return cudaMemoryTypeDevice;
        return origin == Origin::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    }
};

struct Failure {
    std::string function;
    std::uint64_t first;  ///< in the count of calls
    std::uint64_t last;
    cudaError_t error;
};

using Observer = std::function<void(cudaMemoryType, std::span<const std::uint8_t>)>;

/// Everything there is. Never destroyed: the library's own static objects may free memory at exit.
struct Runtime {
    std::recursive_mutex mutex;
    Machine machine;
    std::map<std::uintptr_t, Allocation> allocations;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    /// Per device and kernel, as in CUDA: cudaFuncSetAttribute speaks of the current device.
    std::map<std::pair<int, const void*>, std::size_t> dynamic_limits;
    std::map<std::string, std::uint64_t, std::less<>> calls;
    std::vector<Failure> failures;
    Observer observer;

    Runtime() { restart(Machine::from_environment()); }
    void restart(const Machine& new_machine) {
        machine = new_machine;
        calls.clear();
        failures.clear();
        if (const char* text = std::getenv("WARPAES_SIMT_FAIL")) {
            char function[64];
            int nth = 0;
            int error = 0;
            if (std::sscanf(text, "%63[^:]:%d:%d", function, &nth, &error) == 3) {
                fail_call(function, nth, static_cast<cudaError_t>(error), 1);
            }
        }
    }

    void fail_call(std::string_view function, int nth, cudaError_t error, int times) {
        const std::uint64_t first = count(function) + static_cast<std::uint64_t>(nth);
        failures.push_back({std::string(function), first, first + static_cast<std::uint64_t>(times) - 1, error});
    }
    [[nodiscard]] std::uint64_t count(std::string_view function) const {
        const auto found = calls.find(function);
        return found == calls.end() ? 0 : found->second;
    }

    /// The allocation in which `pointer` lies.
    [[nodiscard]] const std::pair<const std::uintptr_t, Allocation>* find(const void* pointer) const {
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        auto next = allocations.upper_bound(address);
        if (next == allocations.begin()) return nullptr;
        --next;
        return address - next->first < next->second.bytes ? &*next : nullptr;
    }
    [[nodiscard]] std::size_t used(int device) const {
        std::size_t bytes = 0;
        for (const auto& [address, allocation] : allocations) {
            if (allocation.device == device && allocation.origin <= Origin::managed) bytes += allocation.bytes;
        }
        return bytes;
    }
};

Runtime& runtime() {
    static auto& instance = *new Runtime;
    return instance;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t record(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

/// One call of the function `name`: counts it, fails it if it is to fail or if there is no device, else does `body`
/// under the lock.
template <typename Body>
cudaError_t call(const char* name, Body body) {
    if (in_kernel()) fail(name, Where::current());
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    const std::uint64_t number = ++r.calls[name];
    const std::uint64_t total = ++r.calls["*"];
    for (const Failure& failure : r.failures) {
        const std::uint64_t n = failure.function == "*" ? total : number;
        if ((failure.function == "*" || failure.function == name) && failure.first <= n && n <= failure.last) {
            return record(failure.error);
        }
    }
    if (r.machine.devices == 0) return record(r.machine.absence);
    return record(body(r));
}

bool is_device(const Runtime& r, int device) {
    return 0 <= device && device < r.machine.devices;
}

/// The device of a stream, -1 if there is no such stream.
int device_of(const Runtime& r, cudaStream_t stream) {
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return current_device;
    return r.streams.contains(stream) ? stream->device : -1;
}

cudaError_t allocate(Runtime& r, void** pointer, std::size_t bytes, Origin origin) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    const bool on_device = origin == Origin::device || origin == Origin::managed;
    if (on_device && bytes > r.machine.memory - std::min(r.machine.memory, r.used(current_device))) {
        return cudaErrorMemoryAllocation;
    }
    // Exactly that many bytes, so that AddressSanitizer knows where they end.
    if (posix_memalign(pointer, on_device ? 256 : 4096, bytes) != 0) return cudaErrorMemoryAllocation;
    std::memset(*pointer, 0xa5, bytes);
    r.allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = {bytes, origin, current_device};
    return cudaSuccess;
}

/// Ends the allocation that begins at `pointer`, if it is of one of the two origins.
cudaError_t release(Runtime& r, void* pointer, Origin a, Origin b, cudaError_t unknown) {
    if (pointer == nullptr) return cudaSuccess;
    const auto found = r.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == r.allocations.end()) return unknown;
    const Allocation allocation = found->second;
    if (allocation.origin != a && allocation.origin != b) return unknown;
    if (r.observer) r.observer(allocation.type(), {static_cast<const std::uint8_t*>(pointer), allocation.bytes});
    r.allocations.erase(found);
    if (allocation.origin != Origin::registered) std::free(pointer);
    return cudaSuccess;
}

/// Whether `bytes` bytes at `pointer` can be one side of a copy; `device_side`: the kind of copy says that it is device
/// memory. Page-locked memory is mapped and serves as both.
bool copyable(const Runtime& r, const void* pointer, std::size_t bytes, cudaMemcpyKind kind, bool device_side) {
    const auto* found = r.find(pointer);
    if (found == nullptr) return kind == cudaMemcpyDefault || !device_side;
    const auto& [begin, allocation] = *found;
    if (bytes > begin + allocation.bytes - reinterpret_cast<std::uintptr_t>(pointer)) {
        return allocation.origin == Origin::registered;  // on into pageable memory
    }
    if (kind == cudaMemcpyDefault) return true;
    return allocation.origin == Origin::device ? device_side : true;
}

cudaError_t copy(const Runtime& r, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (bytes == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to == nullptr || from == nullptr || !copyable(r, to, bytes, kind, to_device) ||
        !copyable(r, from, bytes, kind, from_device)) {
        return cudaErrorInvalidValue;
    }
    std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t fill(const Runtime& r, void* pointer, int value, std::size_t bytes) {
    if (bytes == 0) return cudaSuccess;
    const auto* found = r.find(pointer);
    if (found == nullptr || bytes > found->first + found->second.bytes - reinterpret_cast<std::uintptr_t>(pointer)) {
        return cudaErrorInvalidValue;
    }
    std::memset(pointer, value, bytes);
    return cudaSuccess;
}

template <typename Body>
cudaError_t on_stream(const char* name, cudaStream_t stream, Body body) {
    return call(name, [&](Runtime& r) { return device_of(r, stream) < 0 ? cudaErrorInvalidResourceHandle : body(r); });
}

cudaError_t create_stream(const char* name, cudaStream_t* stream, unsigned flags) {
    return call(name, [&](Runtime& r) {
        if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        *stream = *r.streams.insert(new CUstream_st{current_device, flags}).first;
        return cudaSuccess;
    });
}

cudaError_t create_event(const char* name, cudaEvent_t* event, unsigned flags) {
    return call(name, [&](Runtime& r) {
        if (event == nullptr) return cudaErrorInvalidValue;
        *event = *r.events.insert(new CUevent_st{.device = current_device, .flags = flags, .when = {}}).first;
        return cudaSuccess;
    });
}

std::size_t dynamic_limit(const Runtime& r, const void* kernel) {
    const auto found = r.dynamic_limits.find({current_device, kernel});
    return found == r.dynamic_limits.end() ? default_shared_memory : found->second;
}

std::size_t multiprocessor_shared_memory(const Runtime& r) {
    return r.machine.shared_memory_per_block + reserved_shared_memory;
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
            return cudaErrorNotSupported;  // here
        }
        if (id == cudaLaunchAttributeCooperative && value.cooperative != 0) return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

std::size_t number_from(const char* variable, std::size_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace

Machine Machine::from_environment() {
    Machine m;
    m.devices = static_cast<int>(number_from("WARPAES_SIMT_DEVICES", static_cast<std::size_t>(m.devices)));
    m.multiprocessors =
        static_cast<int>(number_from("WARPAES_SIMT_MULTIPROCESSORS", static_cast<std::size_t>(m.multiprocessors)));
    m.shared_memory_per_block = number_from("WARPAES_SIMT_SHARED_MEMORY", m.shared_memory_per_block);
    m.memory = number_from("WARPAES_SIMT_MEMORY", m.memory);
    if (const char* text = std::getenv("WARPAES_SIMT_COMPUTE_CAPABILITY")) {
        std::sscanf(text, "%d.%d", &m.major, &m.minor);
    }
    return m;
}

void reset(const Machine& machine) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    r.restart(machine);
    current_device = 0;
    last_error = cudaSuccess;
}

const Machine& machine() {
    return runtime().machine;
}

void fail_call(std::string_view function, int nth, cudaError_t error, int times) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    r.fail_call(function, nth, error, times);
}

std::uint64_t calls(std::string_view function) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    return r.count(function);
}

Usage usage() {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    Usage usage{.streams = r.streams.size(), .events = r.events.size()};
    for (const auto& [address, allocation] : r.allocations) {
        const bool on_host = allocation.type() == cudaMemoryTypeHost;
        ++(on_host ? usage.host_allocations : usage.device_allocations);
        (on_host ? usage.host_bytes : usage.device_bytes) += allocation.bytes;
    }
    return usage;
}

void on_free(Observer observer) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    r.observer = std::move(observer);
}

cudaError_t launch(const cudaLaunchConfig_t& config, const Launch& launch) {
    const cudaError_t error =
        call("cudaLaunchKernelEx", [&](Runtime& r) { return check_launch(r, config, launch.kernel); });
    if (error == cudaSuccess) execute(config.gridDim, config.blockDim, config.dynamicSmemBytes, launch);
    return error;
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    return on_stream("cudaMemcpyToSymbol", stream, [&](Runtime& r) {
        if (offset > symbol_bytes || bytes > symbol_bytes - offset || !copyable(r, from, bytes, kind, false)) {
            return cudaErrorInvalidValue;
        }
        std::memcpy(static_cast<std::uint8_t*>(symbol) + offset, from, bytes);
        return cudaSuccess;
    });
}

}  // namespace simt

using namespace simt;

// Errors.

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define SIMT_CASE(name, value, text) \
    case name:                       \
        return #name;
        SIMT_CUDA_ERRORS(SIMT_CASE)
#undef SIMT_CASE
    }
    return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define SIMT_CASE(name, value, text) \
    case name:                       \
        return text;
        SIMT_CUDA_ERRORS(SIMT_CASE)
#undef SIMT_CASE
    }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}

// Devices.

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = runtime().machine.devices == 0 ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    return call("cudaGetDeviceCount", [&](Runtime& r) {
        *count = r.machine.devices;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int* device) {
    return call("cudaGetDevice", [&](Runtime&) {
        *device = current_device;
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device) {
    return call("cudaSetDevice", [&](Runtime& r) {
        if (!is_device(r, device)) return cudaErrorInvalidDevice;
        current_device = device;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call("cudaGetDeviceProperties", [&](Runtime& r) {
        if (!is_device(r, device)) return cudaErrorInvalidDevice;
        const Machine& m = r.machine;
        cudaDeviceProp p{};
        std::snprintf(p.name, sizeof(p.name), "Simulated GPU %d", device);
        p.totalGlobalMem = m.memory;
        p.sharedMemPerBlock = default_shared_memory;
        p.regsPerBlock = p.regsPerMultiprocessor = 65536;
        p.warpSize = warpSize;
        p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = static_cast<int>(max_threads_per_block);
        p.maxThreadsDim[2] = 64;
        p.maxGridSize[0] = static_cast<int>(max_grid_x);
        p.maxGridSize[1] = p.maxGridSize[2] = static_cast<int>(max_grid_yz);
        p.major = m.major;
        p.minor = m.minor;
        p.multiProcessorCount = m.multiprocessors;
        p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = p.concurrentManagedAccess = 1;
        p.hostRegisterSupported = p.memoryPoolsSupported = 1;
        p.pciBusID = device + 1;
        p.asyncEngineCount = 3;
        p.memoryBusWidth = 5120;
        p.l2CacheSize = l2_bytes;
        p.maxThreadsPerMultiProcessor = max_threads_per_multiprocessor;
        p.maxBlocksPerMultiProcessor = max_blocks_per_multiprocessor;
        p.sharedMemPerMultiprocessor = multiprocessor_shared_memory(r);
        p.sharedMemPerBlockOptin = m.shared_memory_per_block;
        p.reservedSharedMemPerBlock = reserved_shared_memory;
        *properties = p;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return call("cudaDeviceGetAttribute", [&](Runtime& r) {
        if (!is_device(r, device)) return cudaErrorInvalidDevice;
        const Machine& m = r.machine;
        switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
            *value = static_cast<int>(max_threads_per_block);
            break;
        case cudaDevAttrMaxGridDimX:
            *value = static_cast<int>(max_grid_x);
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = static_cast<int>(default_shared_memory);
            break;
        case cudaDevAttrWarpSize:
            *value = warpSize;
            break;
        case cudaDevAttrClockRate:
        case cudaDevAttrMemoryClockRate:
            *value = 1'000'000;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = m.multiprocessors;
            break;
        case cudaDevAttrGlobalMemoryBusWidth:
            *value = 5120;
            break;
        case cudaDevAttrL2CacheSize:
            *value = l2_bytes;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = max_threads_per_multiprocessor;
            break;
        case cudaDevAttrAsyncEngineCount:
            *value = 3;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = m.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = m.minor;
            break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            *value = static_cast<int>(multiprocessor_shared_memory(r));
            break;
        case cudaDevAttrMaxRegistersPerMultiprocessor:
            *value = 65536;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = static_cast<int>(m.shared_memory_per_block);
            break;
        case cudaDevAttrMaxBlocksPerMultiprocessor:
            *value = max_blocks_per_multiprocessor;
            break;
        case cudaDevAttrReservedSharedMemoryPerBlock:
            *value = static_cast<int>(reserved_shared_memory);
            break;
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrHostRegisterSupported:
        case cudaDevAttrMemoryPoolsSupported:
            *value = 1;
            break;
        case cudaDevAttrIntegrated:
        case cudaDevAttrComputeMode:
        case cudaDevAttrPageableMemoryAccess:
        case cudaDevAttrCooperativeLaunch:
            *value = 0;
            break;
        default:
            return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* pci_bus_id, int length, int device) {
    return call("cudaDeviceGetPCIBusId", [&](Runtime& r) {
        if (!is_device(r, device)) return cudaErrorInvalidDevice;
        if (length < 13) return cudaErrorInvalidValue;
        std::snprintf(pci_bus_id, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize() {
    return call("cudaDeviceSynchronize", [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaDeviceReset() {
    return call("cudaDeviceReset", [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call("cudaMemGetInfo", [&](Runtime& r) {
        *total = r.machine.memory;
        *free = *total - std::min(*total, r.used(current_device));
        return cudaSuccess;
    });
}

// Memory.

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    return call("cudaMalloc", [&](Runtime& r) { return allocate(r, pointer, bytes, Origin::device); });
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    return on_stream("cudaMallocAsync", stream,
                     [&](Runtime& r) { return allocate(r, pointer, bytes, Origin::device); });
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
    return call("cudaMallocManaged", [&](Runtime& r) {
        if (flags != cudaMemAttachGlobal || bytes == 0) return cudaErrorInvalidValue;
        return allocate(r, pointer, bytes, Origin::managed);
    });
}

cudaError_t cudaFree(void* pointer) {
    return call("cudaFree", [&](Runtime& r) {
        return release(r, pointer, Origin::device, Origin::managed, cudaErrorInvalidValue);
    });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return on_stream("cudaFreeAsync", stream, [&](Runtime& r) {
        return release(r, pointer, Origin::device, Origin::device, cudaErrorInvalidValue);
    });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
    return call("cudaHostAlloc", [&](Runtime& r) {
        constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        return (flags & ~known) != 0 ? cudaErrorInvalidValue : allocate(r, pointer, bytes, Origin::host);
    });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
    return call("cudaMallocHost", [&](Runtime& r) { return allocate(r, pointer, bytes, Origin::host); });
}

cudaError_t cudaFreeHost(void* pointer) {
    return call("cudaFreeHost",
                [&](Runtime& r) { return release(r, pointer, Origin::host, Origin::host, cudaErrorInvalidValue); });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int) {
    return call("cudaHostRegister", [&](Runtime& r) {
        if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
        const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
        const auto next = r.allocations.lower_bound(begin);
        if (r.find(pointer) != nullptr || (next != r.allocations.end() && next->first - begin < bytes)) {
            return cudaErrorHostMemoryAlreadyRegistered;
        }
        r.allocations[begin] = {bytes, Origin::registered, current_device};
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void* pointer) {
    return call("cudaHostUnregister", [&](Runtime& r) {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        return release(r, pointer, Origin::registered, Origin::registered, cudaErrorHostMemoryNotRegistered);
    });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int) {
    return call("cudaHostGetDevicePointer", [&](Runtime& r) {
        const auto* found = r.find(host_pointer);
        if (found == nullptr || found->second.type() != cudaMemoryTypeHost) return cudaErrorInvalidValue;
        *device_pointer = host_pointer;
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return call("cudaPointerGetAttributes", [&](Runtime& r) {
        if (attributes == nullptr) return cudaErrorInvalidValue;
        void* address = const_cast<void*>(pointer);
        if (const auto* found = r.find(pointer)) {
            const Allocation& allocation = found->second;
            const bool on_host = allocation.origin != Origin::device;
            *attributes = {allocation.type(), allocation.device, address, on_host ? address : nullptr};
        } else {
            *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call("cudaMemcpy", [&](Runtime& r) { return copy(r, to, from, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return on_stream("cudaMemcpyAsync", stream, [&](Runtime& r) { return copy(r, to, from, bytes, kind); });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
    return on_stream("cudaMemcpyPeerAsync", stream, [&](Runtime& r) {
        if (!is_device(r, to_device) || !is_device(r, from_device)) return cudaErrorInvalidDevice;
        return copy(r, to, from, bytes, cudaMemcpyDeviceToDevice);
    });
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
    return call("cudaMemset", [&](Runtime& r) { return fill(r, pointer, value, bytes); });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
    return on_stream("cudaMemsetAsync", stream, [&](Runtime& r) { return fill(r, pointer, value, bytes); });
}

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
        if (r.streams.erase(stream) == 0) return cudaErrorInvalidResourceHandle;
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return on_stream("cudaStreamSynchronize", stream, [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return on_stream("cudaStreamQuery", stream, [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
    return on_stream("cudaStreamWaitEvent", stream, [&](Runtime& r) {
        return r.events.contains(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
    return on_stream("cudaStreamGetFlags", stream, [&](Runtime& r) {
        *flags = r.streams.contains(stream) ? stream->flags : cudaStreamDefault;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return on_stream("cudaStreamGetDevice", stream, [&](Runtime& r) {
        *device = device_of(r, stream);
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
    const cudaError_t error = on_stream("cudaLaunchHostFunc", stream, [&](Runtime&) {
        return function == nullptr ? cudaErrorInvalidValue : cudaSuccess;
    });
    if (error == cudaSuccess) function(user_data);
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
        event->when = std::chrono::steady_clock::now();
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call("cudaEventSynchronize",
                [&](Runtime& r) { return r.events.contains(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call("cudaEventQuery",
                [&](Runtime& r) { return r.events.contains(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
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
        const std::size_t by_memory = multiprocessor_shared_memory(r) / (dynamic_shared_bytes + reserved_shared_memory);
        *blocks = std::min({max_blocks_per_multiprocessor, max_threads_per_multiprocessor / (warps * warpSize),
                            static_cast<int>(by_memory)});
        return cudaSuccess;
    });
}
