// The GPU's clock while an experiment runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// MHz now; none if it cannot be read.
using ClockReader = std::function<std::optional<double>()>;

/// Of the multiprocessors of device `device`, by the driver's management library; it reads none where there is no such
/// library, or no such device.
ClockReader clock_reader(int device);

/// Reads a clock ten times a second from its construction on, in a thread of its own.
class ClockWatch {
public:
    explicit ClockWatch(ClockReader reader);
    ~ClockWatch();
    ClockWatch(const ClockWatch&) = delete;
    ClockWatch& operator=(const ClockWatch&) = delete;
    /// Ends it. None if nothing could be read.
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
