#include "lab/clocks.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace lab {

namespace {

constexpr const char* library_name = "libnvidia-ml.so.1";
constexpr int of_multiprocessors = 1;  // NVML_CLOCK_SM

/// The functions of NVML that the lab needs. dlopen() finds them by their C ABI, so nothing is linked.
class ManagementLibrary {
public:
    explicit ManagementLibrary(int device) : handle_(dlopen(library_name, RTLD_NOW | RTLD_LOCAL)) {
        const auto init = find<int (*)()>("nvmlInit_v2");
        const auto by_index = find<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
        clock_ = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
        if (init == nullptr || by_index == nullptr || clock_ == nullptr || init() != 0) return;
        is_open_ = true;
        if (by_index(static_cast<unsigned>(device), &device_) != 0) device_ = nullptr;
    }
    ~ManagementLibrary() {
        if (const auto shutdown = find<int (*)()>("nvmlShutdown"); is_open_ && shutdown != nullptr) shutdown();
        if (handle_ != nullptr) dlclose(handle_);
    }
    ManagementLibrary(const ManagementLibrary&) = delete;
    ManagementLibrary& operator=(const ManagementLibrary&) = delete;

    [[nodiscard]] std::optional<double> mhz() const {
        unsigned now = 0;
        if (device_ == nullptr || clock_(device_, of_multiprocessors, &now) != 0) return {};
        return now;
    }

private:
    template <typename Function>
    [[nodiscard]] Function find(const char* name) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
    }
    void* handle_;
    void* device_ = nullptr;
    int (*clock_)(void*, int, unsigned*) = nullptr;
    bool is_open_ = false;
};

}  // namespace

ClockReader clock_reader(int device) {
    if (device < 0) return {};
    const auto library = std::make_shared<ManagementLibrary>(device);
    return [library] { return library->mhz(); };
}

ClockWatch::ClockWatch(ClockReader reader) : reader_(std::move(reader)) {
    if (reader_) thread_ = std::thread([this] { watch(); });
}

ClockWatch::~ClockWatch() {
    (void)stop();
}

void ClockWatch::watch() {
    std::unique_lock lock(mutex_);
    do {
        if (const auto now = reader_()) seen_.push_back(*now);
    } while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return end_; }));
}

std::optional<Clocks> ClockWatch::stop() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            end_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }
    if (seen_.empty()) return {};
    std::sort(seen_.begin(), seen_.end());
    return Clocks{seen_.front(), seen_[seen_.size() / 2], seen_.back()};
}

}  // namespace lab
