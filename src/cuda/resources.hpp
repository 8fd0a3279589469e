// What CUDA hands out, each kind owned by a class: memory, streams, events.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/secret.hpp"
#include "cuda/launch.hpp"

namespace warpaes::cuda {

/// Makes `device` the thread's current device, and restores the caller's on the way out.
class CurrentDevice {
public:
    explicit CurrentDevice(int device) {
        check(cudaGetDevice(&before_), "asking for the current device");
        if (before_ != device) check(cudaSetDevice(device), "choosing a device");
        changed_ = before_ != device;
    }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;
    ~CurrentDevice() {
        if (changed_) try_to(cudaSetDevice(before_));
    }

private:
    int before_ = 0;
    bool changed_ = false;
};

/// Memory of one kind that grows on demand and is overwritten before it goes.
template <typename Kind>
class GrowingBuffer {
public:
    GrowingBuffer() = default;
    GrowingBuffer(const GrowingBuffer&) = delete;
    GrowingBuffer& operator=(const GrowingBuffer&) = delete;
    ~GrowingBuffer() { release(); }

    std::uint8_t* get() const noexcept { return pointer_; }
    /// Contents are undefined if it grows.
    std::uint8_t* reserve(std::size_t bytes) {
        if (bytes > size_) {
            // What has grown once may grow again.
            const std::size_t wanted = size_ == 0 ? std::max(bytes, Kind::least) : bytes + bytes / 8;
            release();
            check(Kind::allocate(reinterpret_cast<void**>(&pointer_), wanted), Kind::allocating);
            size_ = wanted;
        }
        used_ = std::max(used_, bytes);
        return pointer_;
    }

    /// Of device memory: `where` is the stream in whose order it is done.
    template <typename... Where>
    void wipe(Where... where) noexcept {
        if (used_ != 0) Kind::clear(pointer_, used_, where...);
        used_ = 0;
    }

    void release() noexcept {
        if (pointer_ == nullptr) return;
        wipe();
        Kind::free(pointer_);
        pointer_ = nullptr;
        size_ = 0;
    }

private:
    std::uint8_t* pointer_ = nullptr;
    std::size_t size_ = 0;
    std::size_t used_ = 0;
};

struct OnDevice {
    static constexpr const char* allocating = "allocating device memory";
    static constexpr std::size_t least = 0;
    static cudaError_t allocate(void** pointer, std::size_t bytes) { return cudaMalloc(pointer, bytes); }
    static void clear(void* pointer, std::size_t bytes) noexcept { try_to(cudaMemset(pointer, 0, bytes)); }
    static void clear(void* pointer, std::size_t bytes, cudaStream_t stream) noexcept {
        try_to(cudaMemsetAsync(pointer, 0, bytes, stream));
    }
    static void free(void* pointer) noexcept { try_to(cudaFree(pointer)); }
};
using DeviceBuffer = GrowingBuffer<OnDevice>;

/// On the way to the device or from it.
struct PageLocked {
    static constexpr const char* allocating = "allocating page-locked memory";
    static constexpr std::size_t least = 4096;
    static cudaError_t allocate(void** pointer, std::size_t bytes) {
        return cudaHostAlloc(pointer, bytes, cudaHostAllocPortable);
    }
    static void clear(std::uint8_t* pointer, std::size_t bytes) noexcept { warpaes::wipe({pointer, bytes}); }
    static void free(void* pointer) noexcept { try_to(cudaFreeHost(pointer)); }
};
using PageLockedBuffer = GrowingBuffer<PageLocked>;

class Stream {
public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { try_to(cudaStreamDestroy(stream_)); }
    cudaStream_t get() const noexcept { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

class Event {
public:
    Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { try_to(cudaEventDestroy(event_)); }

    /// What is enqueued on `later` from here on waits for all that `earlier`, if it is another, holds now.
    void order(cudaStream_t earlier, cudaStream_t later) {
        if (earlier == later) return;
        check(cudaEventRecord(event_, earlier), "recording an event");
        check(cudaStreamWaitEvent(later, event_, 0), "waiting for an event");
    }
    cudaEvent_t get() const noexcept { return event_; }

private:
    cudaEvent_t event_ = nullptr;
};

/// A device's two directions of copying, which all of its lanes share: chunks go in and out in one order, one each way
/// at a time. With copies on the lanes' own streams both directions are at times busy with the same one while the other
/// idles (H200, 2026-11, page-locked 1 GiB in chunks of 12 and 16 MiB, 3 lanes, two runs of each: 47.9 to 49.2 GB/s so,
/// 49.0 to 49.2 with the queues).
struct CopyQueues {
    std::mutex mutex;  ///< held while a chunk is enqueued, so that both queues have the same order
    Stream in, out;

    /// After a failure: what was enqueued before, on a lane's stream too, must not touch the buffers after it.
    void wait(cudaStream_t stream) const noexcept {
        for (const cudaStream_t s : {in.get(), stream, out.get()}) try_to(cudaStreamSynchronize(s));
    }
};

/// While a chunk of `bytes` is enqueued: where its copies go, to the queues or like its kernels to the lane's stream.
struct CopyOrder {
    CopyOrder(CopyQueues& queues, cudaStream_t stream, std::uint64_t bytes) : in(stream), out(stream) {
        // Below this a chunk is not worth the order of the queues, and its memory may be pageable.
        if (bytes < std::uint64_t{1} << 20) return;
        in = queues.in.get();
        out = queues.out.get();
        lock = std::unique_lock(queues.mutex);
    }
    cudaStream_t in, out;
    std::unique_lock<std::mutex> lock;
};

/// Device memory that lives from one point of a stream to another.
class StreamScratch {
public:
    /// Whatever kernel reads a secret there for the last time overwrites it.
    StreamScratch(std::size_t bytes, cudaStream_t stream);
    StreamScratch(const StreamScratch&) = delete;
    StreamScratch& operator=(const StreamScratch&) = delete;
    ~StreamScratch();
    [[nodiscard]] void* get() const noexcept { return pointer_; }

private:
    void* pointer_ = nullptr;
    cudaStream_t stream_;
};

}  // namespace warpaes::cuda
