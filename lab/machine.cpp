#include "lab/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <system_error>

#include "lab/gpu/device.hpp"
#include "lab/process.hpp"
#include "warpaes_commit.hpp"

namespace lab {

namespace {

void read_cpu(Machine& machine) {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        if (line.starts_with("model name") && machine.cpu.empty()) machine.cpu = line.substr(colon + 2);
        if (line.starts_with("CPU implementer")) machine.cpu = "implementer " + line.substr(colon + 2);  // Arm: numbers
        if (line.starts_with("CPU part")) machine.cpu += ", part " + line.substr(colon + 2);
        if (line.starts_with("flags") || line.starts_with("Features")) {
            machine.is_virtual = (line + " ").find(" hypervisor ") != std::string::npos;
            for (const char* flag : {"aes", "vaes", "avx2", "avx512f", "pclmulqdq", "vpclmulqdq", "pmull"}) {
                if ((line + " ").find(fmt::format(" {} ", flag)) != std::string::npos) {
                    machine.instructions.emplace_back(flag);
                }
            }
        }
        if (line.starts_with("flags") || line.starts_with("CPU part")) return;
    }
}

std::string operating_system() {
    std::string name;
    std::ifstream release("/etc/os-release");
    for (std::string line; std::getline(release, line);) {
        if (line.starts_with("PRETTY_NAME=")) name = line.substr(12);
    }
    std::erase(name, '"');
    utsname kernel{};
    if (uname(&kernel) == 0) {
        if (!name.empty()) name += ", ";
        name += fmt::format("{} {}", kernel.sysname, kernel.release);
    }
    return name;
}

/// Returns the first line of nvidia-smi's output; "" if it cannot be run.
std::string ask_nvidia_smi(int device, const char* fields) {
    try {
        const Finished answer = run_process({"nvidia-smi", fmt::format("--id={}", device),
                                             fmt::format("--query-gpu={}", fields), "--format=csv,noheader"});
        return answer.status == 0 ? answer.output.substr(0, answer.output.find('\n')) : "";
    } catch (const std::system_error&) {
        return "";
    }
}

std::string cuda_version(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Machine::Gpu look_at_gpu(int device) {
    const gpu::Properties p = gpu::properties(device);
    Machine::Gpu found;
    found.device = device;
    found.name = p.name;
    found.compute_capability = fmt::format("{}.{}", p.major, p.minor);
    found.multiprocessors = p.multiprocessors;
    found.clock_mhz = p.clock_mhz;
    found.memory_clock_mhz = p.memory_clock_mhz;
    found.memory_bytes = p.memory_bytes;
    found.driver = ask_nvidia_smi(device, "driver_version");
    if (found.driver.empty()) found.driver = fmt::format("for CUDA {}", cuda_version(p.driver));
    found.cuda = cuda_version(p.runtime);
    found.clocks = ask_nvidia_smi(device, "clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem");
    return found;
}

}  // namespace

unsigned available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
    return static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
}

unsigned all_processors() {
    return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::optional<double> processor_seconds() {
    std::ifstream stat("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0;
    if (!(stat >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft) || name != "cpu") return {};
    return (user + nice + system + interrupts + soft) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::optional<double> processor_seconds_of_others() {
    std::optional<double> seconds = processor_seconds();
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        if (!seconds || getrusage(who, &used) != 0) return {};
        for (const timeval& t : {used.ru_utime, used.ru_stime}) {
            *seconds -= static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
        }
    }
    return seconds;
}

Machine look_around(int gpu) {
    Machine machine;
    if (gpu >= 0) machine.gpu = look_at_gpu(gpu);
    read_cpu(machine);
    machine.threads = available_processors();
    machine.memory_bytes =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    machine.os = operating_system();
    machine.openssl = OpenSSL_version(OPENSSL_VERSION);
    return machine;
}

std::string commit_of_build() {
    if (const char* commit = std::getenv("WARPAES_COMMIT"); commit != nullptr && *commit != '\0') {
        const char* dirty = std::getenv("WARPAES_DIRTY");
        return std::string(commit) + (dirty != nullptr && std::string(dirty) == "1" ? "+" : "");
    }
    return WARPAES_COMMIT_OF_TREE;
}

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
