// The CUDA runtime for the lab's host code, which the C++ compiler sees: what it hands out is owned by a class each,
// and its errors are exceptions. No header of CUDA is needed to use this one.
//
// Not for several threads at once, except that each may use its own objects on the device that use() chose for it.
// Built without CUDA there is no device: count() is 0, whatever else is called throws LeftOut.
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

/// A call of the CUDA runtime failed; says which, and the runtime's own words.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Devices of this machine; 0 without a driver, or built without CUDA.
int count();
/// Makes `device` the calling thread's: all that follows, and what it makes, is on it.
void use(int device);
/// Waits for all work of the current device; an error of earlier work is thrown here.
void synchronize();

struct Properties {
    std::string name;
    int major = 0, minor = 0;  ///< compute capability
    int multiprocessors = 0;
    int clock_mhz = 0;  ///< highest of the multiprocessors
    int memory_clock_mhz = 0;
    int memory_bus_bits = 0;
    std::size_t memory_bytes = 0;
    std::size_t l2_bytes = 0;
    int threads_per_multiprocessor = 0;  ///< highest numbers of each
    int blocks_per_multiprocessor = 0;
    int registers_per_multiprocessor = 0;
    std::size_t shared_per_multiprocessor = 0;
    std::size_t shared_per_block = 0;           ///< to be had on request (opt-in)
    std::size_t shared_reserved_per_block = 0;  ///< taken by the system from each thread block's
    bool maps_host_memory = false;
    int driver = 0, runtime = 0;  ///< versions, 1000 * major + 10 * minor
};
Properties properties(int device);
/// Bytes of the current device's memory that are free.
std::size_t free_memory();

/// Memory of the current device. Its contents are undefined.
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

/// Memory of the host, as an experiment wants it. Its contents are undefined.
class HostMemory {
public:
    enum class Kind {
        pageable,
        page_locked,
        mapped,                ///< page-locked, and read and written by kernels where it lies
        mapped_write_combined  ///< the same, past the CPU's caches: it must only be written by the CPU
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
    /// Where kernels find it; not of pageable memory.
    [[nodiscard]] std::uint8_t* on_device() const;

private:
    std::uint8_t* pointer_ = nullptr;
    std::size_t size_ = 0;
    Kind kind_ = Kind::pageable;
};

/// A queue of the current device that does not wait for the default stream.
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

/// Holds a stream until it is opened, so that nothing of what is enqueued in between waits for the host. It opens by
/// itself after 20 ms: a stream takes some hundred entries, and with more the host waits for it.
class Gate {
public:
    explicit Gate(const Stream& stream);
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    /// Opens, and waits for the stream.
    ~Gate();
    void open() { open_.store(true); }

private:
    CUstream_st* stream_;
    std::atomic<bool> open_{false};
};

/// A moment on a stream, with its time.
class Event {
public:
    Event();
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~Event();
    /// When what is on `stream` now is done.
    void record(const Stream& stream);
    /// The host waits.
    void synchronize() const;
    /// What is enqueued on `stream` from here on waits.
    void hold(const Stream& stream) const;
    /// Seconds from `start` to here; waits for both.
    [[nodiscard]] double since(const Event& start) const;

private:
    CUevent_st* event_ = nullptr;
};

/// Copies between any two memories; with a stream it is enqueued there.
void copy(void* to, const void* from, std::size_t bytes);
void copy(void* to, const void* from, std::size_t bytes, const Stream& stream);
/// Device memory: each byte becomes `value`.
void fill(void* pointer, std::uint8_t value, std::size_t bytes);
void fill(void* pointer, std::uint8_t value, std::size_t bytes, const Stream& stream);
/// What `from` holds, on the host.
std::vector<std::uint8_t> fetch(const DeviceMemory& from);
/// Device memory with a copy of `bytes`.
DeviceMemory on_device(std::span<const std::uint8_t> bytes);

/// Seconds by events that the work which `enqueue` puts on `stream` takes; waits for it.
double seconds_of(const Stream& stream, const std::function<void()>& enqueue);

}  // namespace lab::gpu
