// Implements the simulated machine, the CUDA runtime functions that describe it, and requested failures.
#include "runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace simt {
namespace {

/// This size is small, so that even short tests divide work into parts that fit in the L2 cache.
constexpr int l2_bytes = 64 << 10;
/// The maximum number of consecutive failures of a device that recovers. More failures mean a permanent failure.
constexpr std::uint64_t most_failures = 1 << 20;

std::size_t number_from(const char* variable, std::size_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace

void Runtime::restart(const Machine& new_machine) {
    machine = new_machine;
    chance.seed(machine.late);
    drop_captures(*this);
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

void Runtime::fail_call(std::string_view function, int nth, cudaError_t error, int times) {
    const std::uint64_t first = count(function) + static_cast<std::uint64_t>(nth);
    failures.push_back({std::string(function), first, first + static_cast<std::uint64_t>(times) - 1, error});
}

std::uint64_t Runtime::count(std::string_view function) const {
    const auto found = calls.find(function);
    return found == calls.end() ? 0 : found->second;
}

cudaError_t Runtime::failure_of(std::string_view function) {
    const auto counted = [this](std::string_view name) -> std::uint64_t& {
        const auto found = calls.find(name);
        return found != calls.end() ? found->second : calls[std::string(name)];
    };
    const std::uint64_t number = ++counted(function);
    const std::uint64_t total = ++counted("*");
    for (const FailingCalls& failure : failures) {
        const std::uint64_t n = failure.function == "*" ? total : number;
        const bool meant = failure.function == "*" || failure.function == function;
        if (!meant || n < failure.first || failure.last < n) continue;
        if (failure.function == "*" && failure.last - failure.first > most_failures) drop_work(*this);
        return failure.error;
    }
    return machine.devices == 0 ? machine.absence : cudaSuccess;
}

const std::pair<const std::uintptr_t, Allocation>* Runtime::find(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return nullptr;
    --next;
    return address - next->first < next->second.bytes ? &*next : nullptr;
}

std::size_t Runtime::used(int device) const {
    std::size_t bytes = 0;
    for (const auto& [address, allocation] : allocations) {
        const bool counts = allocation.origin == Origin::device || allocation.origin == Origin::managed;
        if (counts && !allocation.pooled && allocation.device == device) bytes += allocation.bytes;
    }
    const auto pool = pools.find(device);
    return bytes + (pool != pools.end() ? pool->second.reserved : 0);
}

Runtime& runtime() {
    static auto& instance = *new Runtime;
    return instance;
}

cudaError_t record(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

int device_of(const Runtime& r, cudaStream_t stream) {
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return current_device;
    return r.streams.contains(stream) ? stream->device : -1;
}

Machine Machine::from_environment() {
    Machine m;
    m.devices = static_cast<int>(number_from("WARPAES_SIMT_DEVICES", static_cast<std::size_t>(m.devices)));
    m.multiprocessors =
        static_cast<int>(number_from("WARPAES_SIMT_MULTIPROCESSORS", static_cast<std::size_t>(m.multiprocessors)));
    m.memory = number_from("WARPAES_SIMT_MEMORY", m.memory);
    m.backwards = number_from("WARPAES_SIMT_BACKWARDS", 0) != 0;
    m.guarded = number_from("WARPAES_SIMT_GUARDED", 0) != 0;
    m.confidential = number_from("WARPAES_SIMT_CONFIDENTIAL", 0) != 0;
    m.late = static_cast<unsigned>(number_from("WARPAES_SIMT_LATE", 0));
    int major = 0, minor = 0;
    const char* text = std::getenv("WARPAES_SIMT_COMPUTE_CAPABILITY");
    if (text != nullptr && std::sscanf(text, "%d.%d", &major, &minor) == 2) m.become(major, minor);
    m.shared_memory_per_block = number_from("WARPAES_SIMT_SHARED_MEMORY", m.shared_memory_per_block);
    return m;
}

void Machine::become(int its_major, int its_minor) {
    major = its_major;
    minor = its_minor;
    const bool is_small = major == 12 || (major == 8 && (minor == 6 || minor == 9));
    shared_memory_per_block = (major < 8 ? 64U : is_small ? 99U : major == 8 ? 163U : 227U) * 1024;
    threads_per_multiprocessor = major < 8 ? 1024 : is_small ? 1536 : 2048;
    const bool has_24_blocks = major >= 11 || (major == 8 && minor == 9);
    blocks_per_multiprocessor = major < 8 || (major == 8 && (minor == 6 || minor == 7)) ? 16 : has_24_blocks ? 24 : 32;
    reserved_shared_memory = major < 8 ? 0 : 1024;
}

void on_call(CallObserver observer) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    r.calls_observed = static_cast<bool>(observer);
    r.call_observer = std::move(observer);
}

void observe_call(Runtime& r, std::string_view name) {
    CallObserver observer;
    {
        const std::lock_guard lock(r.mutex);
        observer = r.call_observer;
    }
    if (observer) observer(name);
}

void on_launch(LaunchObserver observer) {
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    r.launch_observer = std::move(observer);
}

void reset(const Machine& machine) {
    finish_all();
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

void release(Runtime& r, cudaUserObject_t object, unsigned references) {
    object->references -= references;
    if (object->references != 0) return;
    object->destroy(object->pointer);
    r.user_objects.erase(object);
    delete object;
}

Usage usage() {
    finish_all();
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    Usage usage{.streams = r.streams.size(), .events = r.events.size(), .user_objects = r.user_objects.size()};
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
        p.maxThreadsPerMultiProcessor = m.threads_per_multiprocessor;
        p.maxBlocksPerMultiProcessor = m.blocks_per_multiprocessor;
        p.sharedMemPerMultiprocessor = multiprocessor_shared_memory(r);
        p.sharedMemPerBlockOptin = m.shared_memory_per_block;
        p.reservedSharedMemPerBlock = m.reserved_shared_memory;
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
            *value = m.threads_per_multiprocessor;
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
            *value = m.blocks_per_multiprocessor;
            break;
        case cudaDevAttrReservedSharedMemoryPerBlock:
            *value = static_cast<int>(m.reserved_shared_memory);
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
    finish_all();
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
