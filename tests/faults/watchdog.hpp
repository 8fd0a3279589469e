// Aborts a test that hangs, and names the run.
#pragma once

#include <string>

namespace faults {

/// The run named `running` may take one minute during the object's lifetime.
class Watchdog {
public:
    explicit Watchdog(const std::string& running);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace faults
