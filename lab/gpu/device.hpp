// The CUDA runtime for the lab's host code. Each class owns one kind of runtime object; errors are exceptions. This
// header needs no CUDA headers, so the C++ compiler can read it.
//
// Not thread-safe, except that each thread may use its own objects on the device that it selected by use(). In a build
// without CUDA, count() is 0 and all other functions throw LeftOut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct CUstream_st;
struct CUevent_st;

namespace lab::gpu {

/// Thrown if a call of the CUDA runtime fails. The message names the operation and contains the runtime's error text.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns the number of devices; 0 without a driver, or in a build without CUDA.
int count();
/// Makes `device` the calling thread's current device for all later calls.
void use(int device);
/// Waits for all work on the current device; throws if earlier work failed.
void synchronize();

struct Properties {
    std::string name;
    int major = 0, minor = 0;  ///< compute capability
    int multiprocessors = 0;
    int clock_mhz = 0;  ///< highest multiprocessor clock
    int memory_clock_mhz = 0;
    int memory_bus_bits = 0;
    std::size_t memory_bytes = 0;
    std::size_t l2_bytes = 0;
    int threads_per_multiprocessor = 0;  ///< this and the next three are maxima
    int blocks_per_multiprocessor = 0;
    int registers_per_multiprocessor = 0;
    std::size_t shared_per_multiprocessor = 0;
    std::size_t shared_per_block = 0;           ///< available on request (opt-in)
    std::size_t shared_reserved_per_block = 0;  ///< reserved by the system in each thread block
    bool maps_host_memory = false;
    int driver = 0, runtime = 0;  ///< versions, 1000 * major + 10 * minor
};
Properties properties(int device);
/// Returns the free bytes of the current device's memory.
std::size_t free_memory();

/// Memory of the current device, uninitialized.
class DeviceMemory {
public:
    DeviceMemory() = default;
    explicit DeviceMemory(std::size_t bytes);
    DeviceMemory(DeviceMemory&& other) noexcept
        : pointer_(std::exchange(other.pointer_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    DeviceMemory& operator=(DeviceMemory other) noexcept {
        std::swap(pointer_, other.pointer_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~DeviceMemory();

    [[nodiscard]] std::uint8_t* get() const { return pointer_; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    std::uint8_t* pointer_ = nullptr;
    std::size_t size_ = 0;
};

/// Host memory of a given kind, uninitialized.
class HostMemory {
public:
    enum class Kind {
        pageable,
        page_locked,
        mapped,                ///< page-locked, and accessed in place by kernels
        mapped_write_combined  ///< like mapped, but bypasses the CPU's caches: the CPU should only write to it
    };
    HostMemory() = default;
    HostMemory(std::size_t bytes, Kind kind);
    HostMemory(HostMemory&& other) noexcept
        : pointer_(std::exchange(other.pointer_, nullptr)), size_(std::exchange(other.size_, 0)), kind_(other.kind_) {}
    HostMemory& operator=(HostMemory other) noexcept {
        std::swap(pointer_, other.pointer_);
        std::swap(size_, other.size_);
        std::swap(kind_, other.kind_);
        return *this;
    }
    ~HostMemory();

    [[nodiscard]] std::uint8_t* get() const { return pointer_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<std::uint8_t> bytes() const { return {pointer_, size_}; }
    /// Returns the address for kernels. Throws Error for pageable memory.
    [[nodiscard]] std::uint8_t* on_device() const;

private:
    std::uint8_t* pointer_ = nullptr;
    std::size_t size_ = 0;
    Kind kind_ = Kind::pageable;
};

/// A stream of the current device that does not synchronize with the default stream.
class Stream {
public:
    Stream();
    Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
    Stream& operator=(Stream other) noexcept {
        std::swap(stream_, other.stream_);
        return *this;
    }
    ~Stream();
    void synchronize() const;
    /// A cudaStream_t.
    [[nodiscard]] CUstream_st* get() const { return stream_; }

private:
    CUstream_st* stream_ = nullptr;
};

/// Blocks a stream until the gate is opened, so that the work enqueued until then runs without gaps between launches.
/// The gate also opens after 20 ms, because a stream holds only a few hundred entries, and a host that adds more would
/// block forever.
class Gate {
public:
    explicit Gate(const Stream& stream);
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    /// Opens the gate, and waits for the stream.
    ~Gate();
    void open() { open_.store(true); }

private:
    CUstream_st* stream_;
    std::atomic<bool> open_{false};
};

/// A point on a stream, with a timestamp.
class Event {
public:
    Event();
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~Event();
    /// Marks the point after all work that is currently on `stream`.
    void record(const Stream& stream);
    /// Makes the host wait for the event.
    void synchronize() const;
    /// Makes later work on `stream` wait for the event.
    void hold(const Stream& stream) const;
    /// Returns the seconds from `start` to this event; waits for both.
    [[nodiscard]] double since(const Event& start) const;

private:
    CUevent_st* event_ = nullptr;
};

/// Copies between host and device memories in any direction; the overload with a stream enqueues the copy.
void copy(void* to, const void* from, std::size_t bytes);
void copy(void* to, const void* from, std::size_t bytes, const Stream& stream);
/// Sets each byte of device memory to `value`.
void fill(void* pointer, std::uint8_t value, std::size_t bytes);
void fill(void* pointer, std::uint8_t value, std::size_t bytes, const Stream& stream);
/// Copies the contents of `from` to the host.
std::vector<std::uint8_t> fetch(const DeviceMemory& from);
/// Returns device memory with a copy of `bytes`.
DeviceMemory on_device(std::span<const std::uint8_t> bytes);

/// Returns the seconds, by events, of the work that `enqueue` enqueues on `stream`. Waits for the work.
double seconds_of(const Stream& stream, const std::function<void()>& enqueue);

}  // namespace lab::gpu
