#include "lab/gpu_state.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace lab {

namespace {

constexpr const char* library_name = "libnvidia-ml.so.1";
constexpr int of_multiprocessors = 1;  // NVML_CLOCK_SM
constexpr int of_gpu = 0;              // NVML_TEMPERATURE_GPU

/// The functions of NVML that the lab uses. They are loaded with dlopen() and called through their C ABI, so the lab is
/// not linked with NVML.
class ManagementLibrary {
public:
    explicit ManagementLibrary(int device) : handle_(dlopen(library_name, RTLD_NOW | RTLD_LOCAL)) {
        const auto init = find<int (*)()>("nvmlInit_v2");
        const auto by_index = find<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
        clock_ = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
        power_ = find<int (*)(void*, unsigned*)>("nvmlDeviceGetPowerUsage");
        temperature_ = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
        energy_ = find<int (*)(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
        if (init == nullptr || by_index == nullptr || init() != 0) return;
        is_open_ = true;
        if (by_index(static_cast<unsigned>(device), &device_) != 0) device_ = nullptr;
    }
    ~ManagementLibrary() {
        if (const auto shutdown = find<int (*)()>("nvmlShutdown"); is_open_ && shutdown != nullptr) shutdown();
        if (handle_ != nullptr) dlclose(handle_);
    }
    ManagementLibrary(const ManagementLibrary&) = delete;
    ManagementLibrary& operator=(const ManagementLibrary&) = delete;

    [[nodiscard]] GpuState read() const {
        GpuState state;
        unsigned now = 0;
        unsigned long long millijoules = 0;
        if (device_ == nullptr) return state;
        if (clock_ != nullptr && clock_(device_, of_multiprocessors, &now) == 0) state.mhz = now;
        if (power_ != nullptr && power_(device_, &now) == 0) state.watts = now / 1e3;
        if (temperature_ != nullptr && temperature_(device_, of_gpu, &now) == 0) state.celsius = now;
        if (energy_ != nullptr && energy_(device_, &millijoules) == 0) {
            state.joules = static_cast<double>(millijoules) / 1e3;
        }
        return state;
    }

private:
    template <typename Function>
    [[nodiscard]] Function find(const char* name) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
    }
    void* handle_;
    void* device_ = nullptr;
    int (*clock_)(void*, int, unsigned*) = nullptr;
    int (*power_)(void*, unsigned*) = nullptr;
    int (*temperature_)(void*, int, unsigned*) = nullptr;
    int (*energy_)(void*, unsigned long long*) = nullptr;
    bool is_open_ = false;
};

std::optional<Sampled> sampled(std::vector<double>& seen) {
    if (seen.empty()) return {};
    std::sort(seen.begin(), seen.end());
    return Sampled{seen.front(), seen[seen.size() / 2], seen.back()};
}

}  // namespace

GpuReader gpu_reader(int device) {
    if (device < 0) return {};
    const auto library = std::make_shared<ManagementLibrary>(device);
    return [library] { return library->read(); };
}

GpuWatch::GpuWatch(GpuReader reader) : reader_(std::move(reader)) {
    if (reader_) thread_ = std::thread([this] { watch(); });
}

GpuWatch::~GpuWatch() {
    (void)stop();
}

void GpuWatch::watch() {
    std::unique_lock lock(mutex_);
    do {
        const GpuState now = reader_();
        if (now.mhz) mhz_.push_back(*now.mhz);
        if (now.watts) watts_.push_back(*now.watts);
        if (now.celsius) celsius_.push_back(*now.celsius);
    } while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return end_; }));
}

GpuWatch::Seen GpuWatch::stop() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            end_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }
    return {sampled(mhz_), sampled(watts_), sampled(celsius_)};
}

}  // namespace lab
