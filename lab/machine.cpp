#include "lab/machine.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
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

}  // namespace lab
