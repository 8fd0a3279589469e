// Aborts a test that hangs, and names the run.
#pragma once

#include <string>

namespace faults {

/// During its lifetime, `running` may take a minute.
class Watchdog {
public:
    explicit Watchdog(const std::string& running);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace faults
