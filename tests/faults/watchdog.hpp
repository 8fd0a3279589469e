// Ends a test that hangs and names the run.
#pragma once

#include <string>

namespace faults {

/// While it exists, `running` may take a minute.
class Watchdog {
public:
    explicit Watchdog(const std::string& running);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace faults
