// The CUDA backend: its devices, their lanes, and queries of memory.
#include "backend/cuda_backend.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "backend/launch_figures.hpp"
#include "base/error.hpp"
#include "base/loaded_library.hpp"
#include "base/process.hpp"
#include "cuda/lane.hpp"
#include "cuda/memory_place.hpp"
#include "cuda/rows.hpp"
#include "cuda/run.hpp"
#include "cuda/stream_messages.hpp"
#include "cuda/tuning/architectures.hpp"
#include "cuda/tuning/host.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes {

namespace {

using cuda::check;
using cuda::CudaLane;
using cuda::CurrentDevice;
using cuda::DeviceLimits;
using cuda::DeviceShare;
using cuda::RelaxedCapture;
using cuda::try_to;

class Cuda final : public CudaBackend {
public:
    Cuda() {
        when_key_ends([](std::uint64_t serial) { static_cast<Cuda&>(cuda_backend()).forget_key(serial); });
    }

    std::string_view name() const noexcept override { return "cuda"; }
    const std::vector<BackendInfo>& info() const noexcept override {
        detect();
        return home_.is_here() ? info_ : elsewhere_;
    }

    std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes, Pool* pool) override {
        const DeviceLimits& its_limits = limits(device);
        const CurrentDevice current(device);
        auto lane = std::make_unique<CudaLane>(device, its_limits, share(device), staging_bytes, pool);
        awake_.store(true, std::memory_order_relaxed);
        return lane;
    }

    bool is_loaded() const noexcept override { return driver_loaded(); }
    bool is_awake() const noexcept override { return awake_.load(std::memory_order_relaxed); }

    MemoryPlace place(const void* pointer) noexcept override {
        return all_memory_is_the_hosts() ? MemoryPlace{} : cuda::place_of(pointer);
    }
    MemoryStretch stretch(const void* pointer, bool far) noexcept override {
        return all_memory_is_the_hosts() ? MemoryStretch{-1, 0, UINTPTR_MAX} : cuda::stretch_of(pointer, far);
    }

    void run(const MessageGroup& g, int device, std::optional<CallerStream> stream) override {
        const CurrentDevice current(device);
        if (g.mode == Mode::gcm) {
            if (!stream) return run_gcm(g, device);
            return cuda::enqueue_message(g, limits(device), usable(stream->stream), share(device).pieces);
        }
        const Run run = run_of(g);
        if (!stream) return share(device).calls.run(run, limits(device));
        cuda::enqueue(run, limits(device), usable(stream->stream));
    }

    void enqueue(std::span<const MessageGroup> groups, int device, void* stream) override {
        const CurrentDevice current(device);
        DeviceShare& its = share(device);
        const DeviceLimits& its_limits = limits(device);
        const cudaStream_t on = usable(stream);
        if (cuda::are_worth_own_launches(groups, its_limits, on)) {
            return cuda::enqueue_one_by_one(groups, its_limits, on, its.pieces);
        }
        its.on_streams.enqueue(device, its_limits, its.queues, groups, on);
    }

    void enqueue_copied(std::span<const MessageGroup> groups, std::span<std::uint8_t* const> copies, bool more,
                        int device, void* stream) override {
        const CurrentDevice current(device);
        share(device).copies.enqueue(groups, copies, more, usable(stream),
                                     [&](std::span<const MessageGroup> part) { enqueue(part, device, stream); });
    }

    void finish_copies(void* stream) override {
        for (const auto& [device, share] : all_shares()) {
            const CurrentDevice current(device);
            share->copies.finish(usable(stream));
        }
    }

    void enqueue(const NumbersRun& numbers, int device, void* stream) override {
        const CurrentDevice current(device);
        cuda::enqueue(numbers, limits(device), usable(stream));
    }

    void run(const GcmSivRun& run, int device) override {
        const CurrentDevice current(device);
        cuda::run(run, limits(device), share(device).calls);
    }

    void run(const NumbersRun& numbers, int device) override {
        with_stream(device, nullptr, [&](cudaStream_t on) { cuda::enqueue(numbers, limits(device), on); });
    }

    void synchronize(int device, void* stream) override {
        with_stream(device, stream, [](cudaStream_t) {});
    }

    void copy(void* to, const void* from, std::size_t bytes, int device, void* stream) override {
        const CurrentDevice current(device);
        // The thread's stream follows the default stream, and does not wait for copies of other threads.
        if (stream == nullptr && default_stream_is_free()) stream = cudaStreamPerThread;
        with_stream(device, stream, [&](cudaStream_t on) {
            check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on), "copying");
        });
    }

    void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                   std::size_t rows, int device, void* stream) override {
        with_stream(device, stream,
                    [&](cudaStream_t on) { cuda::enqueue_rows(to, to_stride, from, from_stride, bytes, rows, on); });
    }

    void clear(void* memory, std::size_t bytes, int device, void* stream) override {
        with_stream(device, stream, [&](cudaStream_t on) { check(cudaMemsetAsync(memory, 0, bytes, on), "clearing"); });
    }

    bool host_register(void* pointer, std::size_t bytes) override {
        const RelaxedCapture relaxed;
        return locked(cudaHostRegister(pointer, bytes, cudaHostRegisterPortable), bytes);
    }

    void host_unregister(void* pointer) noexcept override {
        const RelaxedCapture relaxed;
        try_to(cudaHostUnregister(pointer));
    }

    bool registers() const noexcept override { return registers_.load(std::memory_order_relaxed); }

    void* allocate(Memory kind, int device, std::size_t bytes) override {
        void* pointer = nullptr;
        if (kind == Memory::page_locked) {
            const RelaxedCapture relaxed;
            return locked(cudaHostAlloc(&pointer, bytes, cudaHostAllocPortable), bytes) ? pointer : nullptr;
        }
        (void)limits(device);
        const CurrentDevice current(device);
        check(cudaMalloc(&pointer, std::max<std::size_t>(bytes, 1)), "allocating device memory");
        remember(pointer, {device, bytes});
        awake_.store(true, std::memory_order_relaxed);
        return pointer;
    }

    void release(Memory kind, void* pointer) noexcept override {
        if (kind == Memory::page_locked) {
            const RelaxedCapture relaxed;
            try_to(cudaFreeHost(pointer));
            return;
        }
        const auto [device, bytes] = forget(pointer);
        try {
            clear(pointer, bytes, device, nullptr);
        } catch (const std::exception&) {
            // The device has failed and its memory is lost.
        }
        const RelaxedCapture relaxed;
        try_to(cudaFree(pointer));
    }

    bool keeps_keys() noexcept override {
        if (!home_.is_here()) return false;
        const std::lock_guard lock(shares_mutex_);
        return std::any_of(shares_.begin(), shares_.end(), [](const auto& s) { return !s.second->keys.empty(); });
    }

    void wipe_keys_before(std::chrono::steady_clock::time_point time) override {
        if (!home_.is_here()) return;
        bool done = true;
        for (const auto& [device, share] : all_shares()) {
            if (share->keys.empty()) continue;
            share->keys.forget_before(time);
            done = wipe_forgotten(device, *share) && done;
        }
        if (!done) throw Error(WARPAES_ERROR_DEVICE, "wiping keys in device memory failed");
    }

    const GpuTransfers& transfers() const noexcept override { return cuda::gpu_transfers; }
    std::uint64_t most_mapped(Mode mode, Direction direction) const noexcept override {
        return cuda::PageLockedAccess::most_for(mode, direction);
    }
    void find_launches_by(StoredLaunches (*find)(const GpuShape& gpu)) noexcept override { find_launches_ = find; }

    GpuLaunches launches(int device) override {
        const DeviceLimits& used = limits(device);
        const Device& its = *devices_[static_cast<std::size_t>(device)];
        return {its.shape, its.built_in.table, used.table, its.note};
    }

    void use_launches(int device, const std::optional<LaunchTable>& table) override {
        (void)limits(device);
        Device& its = *devices_[static_cast<std::size_t>(device)];
        if (!table) return its.used.store(&its.built_in, std::memory_order_release);
        if (const std::string why = objection(*table, its.shape); !why.empty()) {
            throw Error(WARPAES_ERROR_ARGUMENT, why);
        }
        its.use(*table);
    }

private:
    /// False while a stream that is ordered with the default stream is in capture, so that CUDA does not permit its
    /// use.
    static bool default_stream_is_free() {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        return try_to(cudaStreamIsCapturing(nullptr, &status));
    }

    /// Returns a caller's stream. Throws Error{STATE} instead of invalidating a capture that excludes the default
    /// stream.
    static cudaStream_t usable(void* stream) {
        if (stream == nullptr && !default_stream_is_free()) {
            throw Error(
                WARPAES_ERROR_STATE,
                "cuda_stream: CUDA does not permit the default stream while a blocking stream is being captured");
        }
        return static_cast<cudaStream_t>(stream);
    }

    void run_gcm(const MessageGroup& g, int device) {
        cuda::DeviceCalls& calls = share(device).calls;
        Secret<Block> tag;
        const cuda::GcmMessageRun message(g, &*tag);
        if (g.direction == Direction::decrypt) {
            if (!calls.run(message.run, limits(device), {g.tag.first, g.tag_length})) *g.failed = 1;
        } else {
            calls.run(message.run, limits(device));
            std::copy_n(tag->begin(), g.tag_length, g.tag.first);
        }
    }

    /// Calls `work(stream)`, and then waits for the stream.
    template <typename Work>
    static void with_stream(int device, void* stream, const Work& work) {
        const CurrentDevice current(device);
        if (stream == nullptr) {
            const cuda::DefaultStream its;
            work(its.get());
            return its.synchronize();
        }
        const auto on = static_cast<cudaStream_t>(stream);
        cuda::require_no_capture(on);
        work(on);
        check(cudaStreamSynchronize(on), "waiting for the device");
    }

    struct Device {
        GpuShape shape;
        DeviceLimits built_in;
        std::string note;
        std::atomic<const DeviceLimits*> used{&built_in};
        std::mutex mutex;
        std::vector<std::unique_ptr<const DeviceLimits>>
            tuned;  ///< includes old tables, because other threads may still be reading them

        void use(const LaunchTable& table) {
            const std::lock_guard lock(mutex);
            DeviceLimits limits = built_in;
            limits.table = table;
            tuned.push_back(std::make_unique<const DeviceLimits>(limits));
            used.store(tuned.back().get(), std::memory_order_release);
        }
    };

    static bool wipe_forgotten(int device, DeviceShare& share) noexcept {
        try {
            const CurrentDevice current(device);
            const cuda::KeyTable::Wipe wipe = share.keys.wipe_forgotten(share.wiping.get(), cuda::KeyTable::Which::all);
            const bool done = try_to(cudaStreamSynchronize(share.wiping.get()));
            share.keys.wiped(wipe, done);
            return done && wipe.complete;
        } catch (...) {
            return false;
        }
    }

    static bool driver_loaded() noexcept {
#if defined(WARPAES_SIMT)
        return true;
#else
        static LoadedLibrary driver("libcuda.so");
        return driver.is_loaded();
#endif
    }

    void detect() const noexcept {
        std::call_once(detected_, [this] {
            home_.take_over();
            try {
                look_for_devices();
            } catch (const std::exception& e) {
                info_.assign(1, no_device(e.what()));
            }
            elsewhere_ = info_;
            for (BackendInfo& info : elsewhere_) {
                if (info.usable())
                    info.reason = "CUDA works only in the process that initialised it, not in a child of fork";
            }
        });
    }

    /// Returns whether a call has locked pages; false if the driver cannot lock memory that it did not allocate.
    bool locked(cudaError_t error, std::size_t bytes) {
        if (error == cudaErrorNotSupported) {
            try_to(error);
            registers_.store(false, std::memory_order_relaxed);
            return false;
        }
        if (error == cudaErrorMemoryAllocation) {
            try_to(error);
            throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                        "bytes: cannot page-lock " + std::to_string(bytes) + " bytes of memory");
        }
        check(error, "page-locking memory");
        return true;
    }

    static BackendInfo no_device(const std::string& reason) {
        return {.name = "cuda", .description = "CUDA", .reason = reason, .gpu = true};
    }

    static int attribute(cudaDeviceAttr which, int device) {
        int value = 0;
        check(cudaDeviceGetAttribute(&value, which, device), "querying a device's properties");
        return value;
    }

    void look_for_devices() const {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (!try_to(error) || count == 0) {
            const bool no_driver = error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary;
            info_.push_back(no_device(no_driver ? "there is no NVIDIA driver, or it is older than this build needs"
                                      : error == cudaErrorNoDevice || error == cudaSuccess
                                          ? "no CUDA device"
                                          : cudaGetErrorString(error)));
            return;
        }
        for (int device = 0; device < count; ++device) {
            cudaDeviceProp properties{};
            check(cudaGetDeviceProperties(&properties, device), "querying a device's properties");
            BackendInfo info;
            info.name = "cuda";
            info.gpu = true;
            info.description = std::string(properties.name) + ", compute capability " +
                               std::to_string(properties.major) + "." + std::to_string(properties.minor);
            info.device = device;
            info.multiprocessors = properties.multiProcessorCount;
            info.memory_bytes = properties.totalGlobalMem;
            const auto shared = static_cast<int>(properties.sharedMemPerBlockOptin);
            if (shared < cuda::least_shared_bytes)
                info.reason = "has less than 64 KiB of shared memory per thread block";
            const int capability = 10 * properties.major + properties.minor;
            const int code = cuda::code_for(properties.major, properties.minor);
            if (code == 0) {
                info.reason =
                    "this build has no code for its compute capability; build with CMAKE_CUDA_ARCHITECTURES=native";
            }
            auto its = std::make_unique<Device>();
            // PTX for 7.5 has no bit products, regardless of the GPU that the driver compiles it for.
            its->built_in = cuda::limits_of(properties.multiProcessorCount, shared, code < 80 ? code : capability,
                                            static_cast<std::size_t>(properties.l2CacheSize));
            info.speed = {.compute_capability = capability,
                          .clock = 1e3 * attribute(cudaDevAttrClockRate, device),
                          .memory = 2e3 * attribute(cudaDevAttrMemoryClockRate, device) * properties.memoryBusWidth / 8,
                          .tensor_cores = its->built_in.table.tensor_blocks != never};
            info_.push_back(info);
            its->shape = {info.name + " " + info.description, static_cast<std::uint32_t>(capability),
                          static_cast<std::uint32_t>(info.multiprocessors), static_cast<std::uint32_t>(shared),
                          its->built_in.bit_products};
            devices_.push_back(std::move(its));
        }
        // The first entry represents the backend, so usable devices come first.
        std::stable_partition(info_.begin(), info_.end(), [](const BackendInfo& i) { return i.usable(); });
    }

    const DeviceLimits& limits(int device) const {
        detect();
        home_.require("device", "CUDA does not work on this machine");
        if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) {
            throw Error(WARPAES_ERROR_BACKEND, "device: there is no CUDA device " + std::to_string(device));
        }
        std::call_once(asked_, [this] {
            const auto find = find_launches_.load();
            for (const auto& its : devices_) {
                StoredLaunches stored = find != nullptr ? find(its->shape) : StoredLaunches{};
                its->note = std::move(stored.note);
                if (stored.table) its->use(*stored.table);
            }
        });
        return *devices_[static_cast<std::size_t>(device)]->used.load(std::memory_order_acquire);
    }

    DeviceShare& share(int device) {
        const std::lock_guard lock(shares_mutex_);
        const auto found = shares_.find(device);
        if (found != shares_.end()) return *found->second;
        return *shares_.emplace(device, std::make_unique<DeviceShare>()).first->second;
    }

    std::vector<std::pair<int, DeviceShare*>> all_shares() {
        const std::lock_guard lock(shares_mutex_);
        std::vector<std::pair<int, DeviceShare*>> all;
        for (const auto& [device, share] : shares_) all.emplace_back(device, share.get());
        return all;
    }

    void forget_key(std::uint64_t serial) noexcept {
        if (!home_.is_here()) return;
        const std::lock_guard lock(shares_mutex_);
        for (const auto& [device, share] : shares_) share->keys.forget(serial);
    }

    struct Held {
        int device = 0;
        std::size_t bytes = 0;
    };
    void remember(void* pointer, Held held) {
        const std::lock_guard lock(held_mutex_);
        held_[pointer] = held;
    }
    Held forget(void* pointer) noexcept {
        const std::lock_guard lock(held_mutex_);
        const auto node = held_.extract(pointer);
        return node.empty() ? Held{} : node.mapped();
    }

    std::atomic<bool> awake_{false};
    std::atomic<bool> registers_{true};
    mutable std::once_flag detected_;
    mutable Home home_;  ///< the process in which CUDA works; in a child, CUDA's locks may be held and its context does
                         ///< not exist
    mutable std::vector<BackendInfo> info_;
    mutable std::vector<BackendInfo> elsewhere_;            ///< like info_, but in a child process
    mutable std::vector<std::unique_ptr<Device>> devices_;  ///< indexed by device number
    mutable std::once_flag asked_;
    std::atomic<StoredLaunches (*)(const GpuShape&)> find_launches_{nullptr};
    std::mutex shares_mutex_;
    std::map<int, std::unique_ptr<DeviceShare>> shares_;
    std::mutex held_mutex_;
    std::map<void*, Held> held_;  ///< memory that callers have allocated, which is wiped when they free it
};

}  // namespace

bool all_memory_is_the_hosts() noexcept {
    // If the driver is not loaded, there is no device memory. A query would load the driver, which is slow.
    return !cuda_backend().is_loaded() || !cuda_backend().usable();
}

GpuMemory& gpu_memory() {
    return cuda_backend();
}

CudaBackend& cuda_backend() {
    // The backend is never destroyed, because at exit the CUDA runtime may be destroyed first.
    static auto* backend = new Cuda;
    return *backend;
}

}  // namespace warpaes
