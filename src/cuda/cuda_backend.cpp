// The CUDA backend: devices, lanes with a stream of their own, and memory that it recognises.
#include "cuda/cuda_backend.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"

namespace warpaes {

namespace {

using cuda::check;
using cuda::DeviceLimits;

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
        if (changed_) (void)cudaSetDevice(before_);
    }

private:
    int before_ = 0;
    bool changed_ = false;
};

std::uint64_t bytes_of(const Run& run) {
    return run.mode == Mode::cfb1 ? (run.length + 7) / 8 : run.length;
}

MemoryPlace place_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    if (pointer == nullptr || cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        (void)cudaGetLastError();
        return {};
    }
    switch (attributes.type) {
    case cudaMemoryTypeHost:
        return {Memory::page_locked, -1};
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
        return {Memory::device, attributes.device};
    default:
        return {};
    }
}

/// Device memory that grows on demand and is overwritten before it goes.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { release(); }

    std::uint8_t* get() const noexcept { return pointer_; }
    std::uint8_t* reserve(std::size_t bytes) {
        if (bytes > size_) {
            release();
            check(cudaMalloc(reinterpret_cast<void**>(&pointer_), bytes), "allocating device memory");
            size_ = bytes;
        }
        used_ = std::max(used_, bytes);
        return pointer_;
    }

    void wipe(cudaStream_t stream) noexcept {
        if (used_ != 0) (void)cudaMemsetAsync(pointer_, 0, used_, stream);
        used_ = 0;
    }

    void release() noexcept {
        if (pointer_ == nullptr) return;
        (void)cudaMemset(pointer_, 0, used_);
        (void)cudaFree(pointer_);
        pointer_ = nullptr;
        size_ = used_ = 0;
    }

private:
    std::uint8_t* pointer_ = nullptr;
    std::size_t size_ = 0;
    std::size_t used_ = 0;
};

/// Page-locked memory for counters on their way to the device and results from it; grows on demand.
class PageLockedBlocks {
public:
    PageLockedBlocks() = default;
    PageLockedBlocks(const PageLockedBlocks&) = delete;
    PageLockedBlocks& operator=(const PageLockedBlocks&) = delete;
    ~PageLockedBlocks() { release(); }

    Block* reserve(std::size_t count) {
        if (count > count_) {
            release();
            const std::size_t bytes = std::max(count, least_count) * sizeof(Block);
            check(cudaHostAlloc(reinterpret_cast<void**>(&pointer_), bytes, cudaHostAllocPortable),
                  "allocating page-locked memory");
            count_ = bytes / sizeof(Block);
        }
        return pointer_;
    }
    void release() noexcept {
        if (pointer_ != nullptr) (void)cudaFreeHost(pointer_);
        pointer_ = nullptr;
        count_ = 0;
    }

private:
    static constexpr std::size_t least_count = 256;
    Block* pointer_ = nullptr;
    std::size_t count_ = 0;
};

class Stream {
public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { (void)cudaStreamDestroy(stream_); }
    cudaStream_t get() const noexcept { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

class Event {
public:
    Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { (void)cudaEventDestroy(event_); }

    /// What is enqueued on `later` from here on waits for all that `earlier` holds now.
    void order(cudaStream_t earlier, cudaStream_t later) {
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
};

class CudaLane final : public Lane {
public:
    CudaLane(int device, const DeviceLimits& limits, CopyQueues& queues, std::size_t staging_bytes)
        : device_(device), limits_(limits), queues_(queues), staging_bytes_(staging_bytes) {
        if (staging_bytes != 0) {
            check(cudaHostAlloc(reinterpret_cast<void**>(&staging_), 2 * staging_bytes, cudaHostAllocPortable),
                  "allocating page-locked memory");
        }
    }

    ~CudaLane() override {
        Lane::wipe_staging(staging_bytes_);
        try {
            const CurrentDevice current(device_);
            input_.release();
            output_.release();
            scratch_.release();
            results_.release();
            j0s_.release();
            if (staging_ != nullptr) (void)cudaFreeHost(staging_);
        } catch (...) {
            // The device is gone, and its memory with it.
        }
    }

    std::span<std::uint8_t> input_staging() noexcept override { return {staging_, staging_bytes_}; }
    std::span<std::uint8_t> output_staging() noexcept override { return {staging_ + staging_bytes_, staging_bytes_}; }
    int device() const noexcept override { return device_; }

    void run(const Run& run) override {
        const std::uint64_t bytes = bytes_of(run);
        if (bytes == 0) return;
        carry_out(run.input, bytes, run.output, bytes, [&](const std::uint8_t* input, std::uint8_t* output) {
            Run on_device = run;
            on_device.input = input;
            on_device.output = output;
            cuda::enqueue(on_device, limits_, stream_.get());
        });
    }

    void run_gcm(const GcmRun& run) override {
        if (run.count == 0) return;
        const auto extent = [&](std::uint64_t stride) { return (run.count - 1) * stride + run.last_bytes; };
        const std::uint64_t output_bytes = run.output == nullptr ? 0 : extent(run.output_stride);
        const CurrentDevice current(device_);
        Block* const results = results_.reserve(run.count);
        const Block* j0 = run.j0;
        if (run.count > 1 && !run.hashes_only()) {
            // A copy from pageable memory would hold up the thread.
            j0 = std::copy_n(run.j0, run.count, j0s_.reserve(run.count)) - run.count;
        }
        carry_out(run.input, extent(run.input_stride), run.output, output_bytes,
                  [&](const std::uint8_t* input, std::uint8_t* output) {
                      GcmRun on_device = run;
                      on_device.input = input;
                      on_device.output = output;
                      on_device.results = results;
                      on_device.j0 = j0;
                      cuda::enqueue(on_device, limits_, stream_.get(),
                                    [this](std::size_t bytes) { return scratch_.reserve(bytes); });
                  });
        std::copy_n(results, run.count, run.results);
        wipe({results->data(), run.count * sizeof(Block)});
    }

    /// The device's part is done in the order of the stream: before anything that comes after.
    void wipe_staging(std::size_t bytes) noexcept override {
        Lane::wipe_staging(bytes);
        try {
            const CurrentDevice current(device_);
            input_.wipe(stream_.get());
            output_.wipe(stream_.get());
            wiping_ = true;
        } catch (...) {
            // The device is gone, and its memory with it.
        }
    }

private:
    /// `work(input, output)` enqueues on the lane's stream; what of both is not on the device is copied there and back.
    template <typename Work>
    void carry_out(const std::uint8_t* input, std::uint64_t input_bytes, std::uint8_t* output,
                   std::uint64_t output_bytes, const Work& work) {
        const CurrentDevice current(device_);
        const bool copy_in = input_bytes != 0 && !is_here(input), copy_out = output_bytes != 0 && !is_here(output);
        const std::uint8_t* const device_input = copy_in ? input_.reserve(input_bytes) : input;
        std::uint8_t* const device_output = copy_out ? output_.reserve(output_bytes) : output;
        try {
            const bool queued = std::max(input_bytes, output_bytes) >= least_queued_bytes;
            const cudaStream_t stream = stream_.get();
            const cudaStream_t in = queued ? queues_.in.get() : stream, out = queued ? queues_.out.get() : stream;
            {
                const auto lock = queued ? std::unique_lock(queues_.mutex) : std::unique_lock<std::mutex>();
                if (copy_in) {
                    if (queued && wiping_) event_.order(stream, in);
                    check(cudaMemcpyAsync(input_.get(), input, input_bytes, cudaMemcpyDefault, in),
                          "copying to the device");
                    if (queued) event_.order(in, stream);
                }
                wiping_ = false;
                work(device_input, device_output);
                if (copy_out) {
                    if (queued) event_.order(stream, out);
                    check(cudaMemcpyAsync(output, device_output, output_bytes, cudaMemcpyDefault, out),
                          "copying from the device");
                }
                check(cudaEventRecord(done_.get(), copy_out ? out : stream), "recording an event");
            }
            check(cudaEventSynchronize(done_.get()), "waiting for the device");
        } catch (...) {
            // What was enqueued before the failure must not touch the buffers after it.
            for (const cudaStream_t stream : {queues_.in.get(), stream_.get(), queues_.out.get()}) {
                (void)cudaStreamSynchronize(stream);
            }
            throw;
        }
    }

    [[nodiscard]] bool is_here(const void* pointer) const {
        const MemoryPlace place = place_of(pointer);
        return place.kind == Memory::device && place.device == device_;
    }

    /// Below this a chunk is not worth the order of the queues, and its memory may be pageable.
    static constexpr std::uint64_t least_queued_bytes = std::uint64_t{1} << 20;

    int device_;
    DeviceLimits limits_;
    CopyQueues& queues_;
    Stream stream_;
    Event event_, done_;
    std::uint8_t* staging_ = nullptr;
    std::size_t staging_bytes_;
    DeviceBuffer input_, output_, scratch_;
    PageLockedBlocks results_, j0s_;
    bool wiping_ = false;  ///< the stream still holds the wiping of both
};

class Cuda final : public CudaBackend {
public:
    std::string_view name() const noexcept override { return "cuda"; }
    const std::vector<BackendInfo>& info() const noexcept override {
        detect();
        return info_;
    }

    std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes) override {
        const DeviceLimits& its_limits = limits(device);
        const CurrentDevice current(device);
        return std::make_unique<CudaLane>(device, its_limits, queues(device), staging_bytes);
    }

    MemoryPlace place(const void* pointer) noexcept override {
        // Where nobody has loaded the driver, nobody has device memory; and asking would load it, which takes long.
        if (!driver_loaded()) return {};
        if (!usable()) return {};
        return place_of(pointer);
    }

    void run_async(const Run& run, int device, void* stream) override {
        const CurrentDevice current(device);
        cuda::enqueue(run, limits(device), static_cast<cudaStream_t>(stream));
    }

    void run_gcm_async(const GcmRun& run, int device, void* stream) override {
        const CurrentDevice current(device);
        cuda::enqueue(run, limits(device), static_cast<cudaStream_t>(stream));
    }

    void synchronize(int device, void* stream) override {
        const CurrentDevice current(device);
        check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the device");
    }

    void copy(void* to, const void* from, std::size_t bytes, int device, void* stream) override {
        const CurrentDevice current(device);
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)), "copying");
        check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the device");
    }

    void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                   std::size_t rows, int device, void* stream) override {
        const CurrentDevice current(device);
        const auto on = static_cast<cudaStream_t>(stream);
        constexpr std::size_t largest_pitch = 0x7fffffff;
        const bool far_apart = std::max(to_stride, from_stride) > largest_pitch;
        const std::size_t at_once = far_apart ? 1 : rows;
        for (std::size_t row = 0; row < rows; row += at_once) {
            check(cudaMemcpy2DAsync(static_cast<std::uint8_t*>(to) + row * to_stride, far_apart ? bytes : to_stride,
                                    static_cast<const std::uint8_t*>(from) + row * from_stride,
                                    far_apart ? bytes : from_stride, bytes, at_once, cudaMemcpyDefault, on),
                  "copying");
        }
        check(cudaStreamSynchronize(on), "waiting for the device");
    }

    void clear(void* memory, std::size_t bytes, int device, void* stream) override {
        const CurrentDevice current(device);
        check(cudaMemsetAsync(memory, 0, bytes, static_cast<cudaStream_t>(stream)), "clearing");
        check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the device");
    }

    void* host_alloc(std::size_t bytes) override {
        void* pointer = nullptr;
        const cudaError_t error = cudaHostAlloc(&pointer, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
        if (error == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                        "bytes: no " + std::to_string(bytes) + " bytes of page-locked memory");
        }
        check(error, "allocating page-locked memory");
        remember(pointer, bytes);
        return pointer;
    }

    void host_free(void* pointer) noexcept override {
        wipe({static_cast<std::uint8_t*>(pointer), forget(pointer)});
        (void)cudaFreeHost(pointer);
    }

    void host_register(void* pointer, std::size_t bytes) override {
        const cudaError_t error = cudaHostRegister(pointer, bytes, cudaHostRegisterPortable);
        if (error == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                        "bytes: no " + std::to_string(bytes) + " bytes can be page-locked");
        }
        check(error, "page-locking memory");
    }

    void host_unregister(void* pointer) noexcept override { (void)cudaHostUnregister(pointer); }

    void* device_alloc(int device, std::size_t bytes) override {
        (void)limits(device);
        const CurrentDevice current(device);
        void* pointer = nullptr;
        check(cudaMalloc(&pointer, std::max<std::size_t>(bytes, 1)), "allocating device memory");
        remember(pointer, bytes);
        return pointer;
    }

    void device_free(void* pointer) noexcept override {
        (void)cudaMemset(pointer, 0, forget(pointer));
        (void)cudaFree(pointer);
    }

private:
    /// Opt-in shared memory that the smaller of the two table layouts needs (kernels/cipher.cuh).
    static constexpr int least_shared_bytes = 64 * 1024;

    static bool driver_loaded() noexcept {
#if defined(WARPAES_SIMT)
        return true;
#else
        static std::atomic<bool> seen{false};
        if (seen.load(std::memory_order_relaxed)) return true;
        void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (driver == nullptr) return false;
        dlclose(driver);
        seen.store(true, std::memory_order_relaxed);
        return true;
#endif
    }

    void detect() const noexcept {
        std::call_once(detected_, [this] {
            try {
                look_for_devices();
            } catch (const std::exception& e) {
                info_.assign(1, no_device(e.what()));
            }
        });
    }

    static BackendInfo no_device(const std::string& reason) {
        BackendInfo info;
        info.name = "cuda";
        info.description = "CUDA";
        info.reason = reason;
        return info;
    }

    void look_for_devices() const {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (error != cudaSuccess || count == 0) {
            (void)cudaGetLastError();
            const bool no_driver = error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary;
            info_.push_back(no_device(no_driver ? "no NVIDIA driver, or one older than this build needs"
                                      : error == cudaErrorNoDevice || error == cudaSuccess
                                          ? "no CUDA device"
                                          : cudaGetErrorString(error)));
            return;
        }
        for (int device = 0; device < count; ++device) {
            cudaDeviceProp properties{};
            check(cudaGetDeviceProperties(&properties, device), "asking for a device's properties");
            BackendInfo info;
            info.name = "cuda";
            info.description = std::string(properties.name) + ", compute capability " +
                               std::to_string(properties.major) + "." + std::to_string(properties.minor);
            info.device = device;
            info.multiprocessors = properties.multiProcessorCount;
            info.memory_bytes = properties.totalGlobalMem;
            const auto shared = static_cast<int>(properties.sharedMemPerBlockOptin);
            if (shared < least_shared_bytes) info.reason = "has less than 64 KiB of shared memory a thread block";
            if (!cuda::has_code_for(properties.major, properties.minor)) {
                info.reason =
                    "this build has no code for its compute capability; build with CMAKE_CUDA_ARCHITECTURES=native";
            }
            info_.push_back(info);
            limits_.push_back({properties.multiProcessorCount, shared, 10 * properties.major + properties.minor});
        }
        // The first entry speaks for the backend: let it be a device that can run.
        std::stable_partition(info_.begin(), info_.end(), [](const BackendInfo& i) { return i.usable(); });
    }

    const DeviceLimits& limits(int device) const {
        detect();
        if (device < 0 || static_cast<std::size_t>(device) >= limits_.size()) {
            throw Error(WARPAES_ERROR_BACKEND, "device: there is no CUDA device " + std::to_string(device));
        }
        return limits_[static_cast<std::size_t>(device)];
    }

    CopyQueues& queues(int device) {
        const std::lock_guard lock(queues_mutex_);
        auto& queues = queues_[device];
        if (queues == nullptr) queues = std::make_unique<CopyQueues>();
        return *queues;
    }

    void remember(void* pointer, std::size_t bytes) {
        const std::lock_guard lock(sizes_mutex_);
        sizes_[pointer] = bytes;
    }
    std::size_t forget(void* pointer) noexcept {
        const std::lock_guard lock(sizes_mutex_);
        const auto node = sizes_.extract(pointer);
        return node.empty() ? 0 : node.mapped();
    }

    mutable std::once_flag detected_;
    mutable std::vector<BackendInfo> info_;
    mutable std::vector<DeviceLimits> limits_;  ///< by device number
    std::mutex queues_mutex_;
    std::map<int, std::unique_ptr<CopyQueues>> queues_;
    std::mutex sizes_mutex_;
    std::map<void*, std::size_t> sizes_;  ///< of what callers hold, to wipe it when it comes back
};

}  // namespace

CudaBackend& cuda_backend() {
    // Never destroyed: at exit the CUDA runtime may be gone before us.
    static auto* backend = new Cuda;
    return *backend;
}

}  // namespace warpaes
