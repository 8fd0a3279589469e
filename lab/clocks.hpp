// Samples the GPU's clock frequency while an experiment runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// Returns the current frequency in MHz; none if it cannot be read.
using ClockReader = std::function<std::optional<double>()>;

/// Reads the multiprocessor clock of device `device` through the driver's management library (NVML). The reader returns
/// none if the library or the device is missing; for a negative `device` the reader is empty.
ClockReader clock_reader(int device);

/// Samples a clock ten times a second in its own thread, from construction until stop().
class ClockWatch {
public:
    explicit ClockWatch(ClockReader reader);
    ~ClockWatch();
    ClockWatch(const ClockWatch&) = delete;
    ClockWatch& operator=(const ClockWatch&) = delete;
    /// Stops sampling. Returns none if no sample could be read.
    std::optional<Clocks> stop();

private:
    void watch();
    ClockReader reader_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::vector<double> seen_;
    std::thread thread_;
};

}  // namespace lab
