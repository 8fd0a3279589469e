#include "lab/gpu/device.hpp"

#include <chrono>
#include <new>
#include <thread>

#include "lab/gpu/check.hpp"

namespace lab::gpu {
namespace {

constexpr std::align_val_t page{4096};

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "asking for a device's attribute");
    return value;
}

}  // namespace

int count() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess) return devices;
    (void)cudaGetLastError();
    return 0;
}

void use(int device) {
    check(cudaSetDevice(device), "choosing a device");
}

void synchronize() {
    check(cudaDeviceSynchronize(), "waiting for the device");
}

Properties properties(int device) {
    cudaDeviceProp from{};
    check(cudaGetDeviceProperties(&from, device), "asking for a device's properties");
    Properties p;
    p.name = from.name;
    p.major = from.major;
    p.minor = from.minor;
    p.multiprocessors = from.multiProcessorCount;
    p.clock_mhz = attribute(cudaDevAttrClockRate, device) / 1000;
    p.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, device) / 1000;
    p.memory_bus_bits = from.memoryBusWidth;
    p.memory_bytes = from.totalGlobalMem;
    p.l2_bytes = static_cast<std::size_t>(from.l2CacheSize);
    p.threads_per_multiprocessor = from.maxThreadsPerMultiProcessor;
    p.blocks_per_multiprocessor = from.maxBlocksPerMultiProcessor;
    p.registers_per_multiprocessor = from.regsPerMultiprocessor;
    p.shared_per_multiprocessor = from.sharedMemPerMultiprocessor;
    p.shared_per_block = from.sharedMemPerBlockOptin;
    p.shared_reserved_per_block = from.reservedSharedMemPerBlock;
    p.maps_host_memory = from.canMapHostMemory != 0;
    check(cudaDriverGetVersion(&p.driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&p.runtime), "asking for the runtime's version");
    return p;
}

std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return free;
}

DeviceMemory::DeviceMemory(std::size_t bytes) : size_(bytes) {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, bytes), "allocating device memory");
    pointer_ = static_cast<std::uint8_t*>(pointer);
}

DeviceMemory::~DeviceMemory() {
    if (pointer_ != nullptr) (void)cudaFree(pointer_);
}

HostMemory::HostMemory(std::size_t bytes, Kind kind) : size_(bytes), kind_(kind) {
    void* pointer = nullptr;
    if (kind == Kind::pageable) {
        pointer = ::operator new(bytes, page);
    } else {
        unsigned flags = cudaHostAllocDefault;
        if (kind == Kind::mapped) flags = cudaHostAllocMapped;
        if (kind == Kind::mapped_write_combined) flags = cudaHostAllocMapped | cudaHostAllocWriteCombined;
        check(cudaHostAlloc(&pointer, bytes, flags), "allocating page-locked memory");
    }
    pointer_ = static_cast<std::uint8_t*>(pointer);
}

HostMemory::~HostMemory() {
    if (pointer_ == nullptr) return;
    if (kind_ == Kind::pageable) {
        ::operator delete(pointer_, page);
    } else {
        (void)cudaFreeHost(pointer_);
    }
}

std::uint8_t* HostMemory::on_device() const {
    if (kind_ == Kind::pageable) throw Error("pageable memory is not mapped");
    if (kind_ == Kind::page_locked) return pointer_;  // valid with unified addressing
    void* pointer = nullptr;
    check(cudaHostGetDevicePointer(&pointer, pointer_, 0), "asking where host memory is mapped");
    return static_cast<std::uint8_t*>(pointer);
}

Stream::Stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

Stream::~Stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

void Stream::synchronize() const {
    check(cudaStreamSynchronize(stream_), "waiting for a stream");
}

Gate::Gate(const Stream& stream) : stream_(stream.get()) {
    const auto wait = [](void* gate) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (!static_cast<Gate*>(gate)->open_.load() && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
    };
    check(cudaLaunchHostFunc(stream_, wait, this), "holding a stream");
}

Gate::~Gate() {
    open();
    (void)cudaStreamSynchronize(stream_);
}

Event::Event() {
    check(cudaEventCreate(&event_), "creating an event");
}

Event::~Event() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) {
    check(cudaEventRecord(event_, stream.get()), "recording an event");
}

void Event::synchronize() const {
    check(cudaEventSynchronize(event_), "waiting for an event");
}

void Event::hold(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream.get(), event_, 0), "holding a stream");
}

double Event::since(const Event& start) const {
    synchronize();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event's time");
    return static_cast<double>(milliseconds) / 1000;
}

void copy(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying");
    // A copy from pageable memory may still be in flight at this point, and non-blocking streams do not wait for it.
    check(cudaStreamSynchronize(nullptr), "copying");
}

void copy(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "copying");
}

void fill(void* pointer, std::uint8_t value, std::size_t bytes) {
    check(cudaMemset(pointer, value, bytes), "filling device memory");
    synchronize();
}

void fill(void* pointer, std::uint8_t value, std::size_t bytes, const Stream& stream) {
    check(cudaMemsetAsync(pointer, value, bytes, stream.get()), "filling device memory");
}

std::vector<std::uint8_t> fetch(const DeviceMemory& from) {
    std::vector<std::uint8_t> bytes(from.size());
    copy(bytes.data(), from.get(), bytes.size());
    return bytes;
}

DeviceMemory on_device(std::span<const std::uint8_t> bytes) {
    DeviceMemory memory(bytes.size());
    copy(memory.get(), bytes.data(), bytes.size());
    return memory;
}

double seconds_of(const Stream& stream, const std::function<void()>& enqueue) {
    Event start, end;
    start.record(stream);
    enqueue();
    end.record(stream);
    return end.since(start);
}

}  // namespace lab::gpu
