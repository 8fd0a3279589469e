// Describes the machine and the build of a run. Samples the GPU's clock, power and temperature during experiments.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// Describes this machine. `gpu` is the device that the run uses, -1 for none.
Machine look_around(int gpu);

/// Returns the number of processors that this process may use.
unsigned available_processors();

/// Returns the commit of this build, or the value of the environment variable WARPAES_COMMIT. Ends in "+" if the tree
/// had uncommitted changes; "" if unknown.
std::string commit_of_build();

/// Returns the number of processors of the whole machine, including processors that this process may not use.
unsigned all_processors();
/// Returns the processor seconds (user, system and interrupts) of the whole machine since boot, or none if the system
/// does not report them.
std::optional<double> processor_seconds();
/// As processor_seconds(), but excludes this process and the programs that it has run.
std::optional<double> processor_seconds_of_others();

/// The state of a GPU at one moment; fields that cannot be read are empty.
struct GpuState {
    std::optional<double> mhz;      ///< multiprocessor clock
    std::optional<double> watts;    ///< power of the whole board
    std::optional<double> celsius;  ///< temperature
    std::optional<double> joules;   ///< energy since the driver was loaded
};
using GpuReader = std::function<GpuState()>;

/// Returns a function that reads the state of device `device` through the driver's management library (NVML), which is
/// loaded on first use. If the library or the device is missing, the state has no values. For a negative `device`, the
/// returned function is empty.
GpuReader gpu_reader(int device);

/// Samples a GPU ten times a second in its own thread, from construction until stop().
class GpuWatch {
public:
    explicit GpuWatch(GpuReader reader);
    ~GpuWatch();
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;

    struct Seen {
        std::optional<Sampled> clocks, power, temperature;  ///< none if no sample could be read
    };
    /// Stops sampling.
    Seen stop();

private:
    void watch();
    GpuReader reader_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::vector<double> mhz_, watts_, celsius_;
    std::thread thread_;
};

}  // namespace lab
