// Classes that own CUDA resources: memory, streams and events.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/secret.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/launch.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes::cuda {

/// While any thread captures a stream into a graph, CUDA refuses calls that could wait or that are not captured, such
/// as allocations, and invalidates the capture, unless the calling thread has set the relaxed mode. This class sets the
/// relaxed mode. The library's calls do not affect the captured work.
class RelaxedCapture {
public:
    RelaxedCapture() noexcept : set_(try_to(cudaThreadExchangeStreamCaptureMode(&mode_))) {}
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;
    ~RelaxedCapture() {
        if (set_) try_to(cudaThreadExchangeStreamCaptureMode(&mode_));
    }

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
    bool set_;
};

/// Makes `device` the thread's current device, even while other streams are being captured, and restores the caller's
/// device when destroyed. Every backend call creates one of these objects first.
class CurrentDevice {
public:
    explicit CurrentDevice(int device) : choice_(device) {}

private:
    class Choice {
    public:
        explicit Choice(int device) {
            check(cudaGetDevice(&before_), "querying the current device");
            if (before_ != device) check(cudaSetDevice(device), "selecting a device");
            changed_ = before_ != device;
        }
        Choice(const Choice&) = delete;
        Choice& operator=(const Choice&) = delete;
        ~Choice() {
            if (changed_) try_to(cudaSetDevice(before_));
        }

    private:
        int before_ = 0;
        bool changed_ = false;
    };

    Choice choice_;
    RelaxedCapture relaxed_;  ///< declared after the device, because setting the mode creates a context on the current
                              ///< device
};

class Stream {
public:
    explicit Stream(unsigned flags = cudaStreamNonBlocking) {
        check(cudaStreamCreateWithFlags(&stream_, flags), "creating a stream");
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() {
        const RelaxedCapture relaxed;
        try_to(cudaStreamDestroy(stream_));
    }
    cudaStream_t get() const noexcept { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

/// The stream of a call that waits: the current device's default stream. While a stream that synchronizes with the
/// default stream is in capture, CUDA does not allow any thread to use the default stream. The call then uses a
/// separate stream, which is ordered after the pending work of the default stream.
class DefaultStream {
public:
    DefaultStream() {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (!try_to(cudaStreamIsCapturing(nullptr, &status))) instead_.emplace(cudaStreamDefault);
    }
    [[nodiscard]] cudaStream_t get() const noexcept { return instead_ ? instead_->get() : nullptr; }
    /// Waits for the pending work of the default stream and for the work enqueued through this object.
    void synchronize() const {
        // The enqueued function makes the stream wait for the default stream; waiting for an empty stream would have no
        // effect.
        if (instead_)
            check(cudaLaunchHostFunc(
                      instead_->get(), [](void*) {}, nullptr),
                  "enqueuing a host function");
        check(cudaStreamSynchronize(get()), "waiting for the device");
    }

private:
    std::optional<Stream> instead_;
};

/// Memory of one kind that grows on demand and is overwritten before it is freed.
template <typename Kind>
class GrowingBuffer {
public:
    GrowingBuffer() = default;
    GrowingBuffer(const GrowingBuffer&) = delete;
    GrowingBuffer& operator=(const GrowingBuffer&) = delete;
    ~GrowingBuffer() { release(); }

    std::uint8_t* get() const noexcept { return pointer_; }
    /// Returns at least `bytes` bytes. If the buffer grows, its contents are undefined.
    std::uint8_t* reserve(std::size_t bytes) {
        keep(bytes);
        used_ = std::max(used_, bytes);
        return pointer_;
    }

    /// Allocates `bytes` bytes for later use.
    void keep(std::size_t bytes) {
        if (bytes <= size_) return;
        // A buffer that has grown once may grow again, so more memory is allocated than requested. With twice the size,
        // all outgrown memory together is smaller than the buffer.
        const std::size_t wanted = size_ == 0  ? std::max(bytes, Kind::least)
                                   : may_free_ ? bytes + bytes / 8
                                               : std::max(bytes, 2 * size_);
        if (may_free_) {
            release();
        } else if (pointer_ != nullptr) {
            outgrown_.push_back(pointer_);
            wipe();
            pointer_ = nullptr;
            size_ = 0;
        }
        check(Kind::allocate(reinterpret_cast<void**>(&pointer_), wanted), Kind::allocating);
        size_ = wanted;
    }

    /// Freeing memory waits for the device. With `may` false, a buffer that grows therefore keeps its old memory until
    /// it grows again with `may` true, or is released.
    void may_free(bool may) noexcept { may_free_ = may; }

    /// For device memory, `where` may be a stream; the wiping is then done in stream order.
    template <typename... Where>
    void wipe(Where... where) noexcept {
        if (used_ != 0) Kind::clear(pointer_, used_, where...);
        used_ = 0;
    }

    void release() noexcept {
        for (std::uint8_t* const memory : outgrown_) Kind::free(memory);
        outgrown_.clear();
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
    bool may_free_ = true;
    std::vector<std::uint8_t*> outgrown_;  ///< memory that has been wiped and is not used any more
};

struct OnDevice {
    static constexpr const char* allocating = "allocating device memory";
    static constexpr std::size_t least = 0;
    static cudaError_t allocate(void** pointer, std::size_t bytes) { return cudaMalloc(pointer, bytes); }
    static void clear(void* pointer, std::size_t bytes) noexcept {
        try {
            try_to(cudaMemsetAsync(pointer, 0, bytes, DefaultStream().get()));
        } catch (const std::exception&) {
            // The device has failed, and its memory is lost.
        }
    }
    static void clear(void* pointer, std::size_t bytes, cudaStream_t stream) noexcept {
        try_to(cudaMemsetAsync(pointer, 0, bytes, stream));
    }
    static void free(void* pointer) noexcept { try_to(cudaFree(pointer)); }
};
using DeviceBuffer = GrowingBuffer<OnDevice>;

/// Memory for data that is copied to or from the device.
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

class Event {
public:
    Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() {
        const RelaxedCapture relaxed;
        try_to(cudaEventDestroy(event_));
    }

    /// Makes all work that is enqueued on `later` after this call wait for the work that is pending on `earlier` now.
    void order(cudaStream_t earlier, cudaStream_t later) {
        if (earlier == later) return;
        check(cudaEventRecord(event_, earlier), "recording an event");
        check(cudaStreamWaitEvent(later, event_, 0), "waiting for an event");
    }
    cudaEvent_t get() const noexcept { return event_; }

private:
    cudaEvent_t event_ = nullptr;
};

/// Throws Error{STATE} if the stream is in capture, because waiting for it would invalidate the capture.
inline void require_no_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "querying the capture status");
    if (status == cudaStreamCaptureStatusNone) return;
    throw Error(WARPAES_ERROR_STATE, "cuda_stream: is being captured, and this call would have to wait for it");
}

/// The two copy queues of a device, one per direction, which all of its lanes share. Chunks are copied in and out in
/// the same order, one at a time in each direction. If the lanes used their own streams for copies, both copy engines
/// would sometimes work in the same direction while the other direction is idle.
struct CopyQueues {
    std::mutex mutex;  ///< held while a chunk is enqueued, so that both queues have the same order
    Stream in, out;

    /// After a failure, waits until no previously enqueued work, including work on a lane's stream, can access the
    /// buffers.
    void wait(cudaStream_t stream) const noexcept {
        for (const cudaStream_t s : {in.get(), stream, out.get()}) try_to(cudaStreamSynchronize(s));
    }
};

/// Exists while a chunk of `bytes` bytes is enqueued. Determines where its copies are enqueued: on the queues, or on
/// the lane's stream together with its kernels.
struct CopyOrder {
    CopyOrder(CopyQueues& queues, cudaStream_t stream, std::uint64_t bytes) : in(stream), out(stream) {
        if (bytes < Copies::least_queued) return;
        in = queues.in.get();
        out = queues.out.get();
        lock = std::unique_lock(queues.mutex);
    }
    cudaStream_t in, out;
    std::unique_lock<std::mutex> lock;
};

/// A few small pieces of device memory for calls on a caller's stream, which are faster to acquire than memory from a
/// pool. The last kernel that uses a piece releases it by a notice, because an event would cost a call a microsecond.
/// Thread-safe.
class StreamPieces {
public:
    static constexpr std::size_t bytes = 8192;
    struct Piece {
        std::uint8_t* memory = nullptr;  ///< null: the stream is in capture, or all pieces are in use
        Notice release;                  ///< `arrived` is not set

        /// Returns a sum at the end of the piece, which is zero before and after its use.
        [[nodiscard]] GcmSum* sum() const { return reinterpret_cast<GcmSum*>(memory + bytes - sizeof(GcmSum)); }
    };

    /// Returns a piece, which is in use until a kernel gives its notice.
    [[nodiscard]] Piece take(cudaStream_t stream) noexcept;

private:
    static constexpr unsigned count = 16, is_free = 0, is_taken = 1;
    std::mutex mutex_;
    PageLockedBuffer states_;  ///< one word for each piece; freed after `memory_`, whose release waits for all kernels
    DeviceBuffer memory_;
    bool is_ready_ = false;
    unsigned next_ = 0;
};

/// Device memory that is allocated and freed in stream order.
class StreamScratch {
public:
    /// Makes the current device keep scratch memory, so that a call that needs little scratch memory works even when
    /// other programs have allocated all other memory. Has no effect if no memory is left.
    static void keep_some(cudaStream_t stream) noexcept;

    /// The last kernel that reads a secret in this memory must overwrite the secret.
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
