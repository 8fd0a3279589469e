// The runs of a fault: counts their outcomes, and aborts one that hangs.
#pragma once

#include <string>

namespace faults {

enum class Outcome {
    completed,  ///< the output is right
    refused,    ///< the job reported an error and left no file
    missed,     ///< the run made fewer calls than the counted run, so no fault was injected; tests limit their number
    wrong
};

/// If WARPAES_FAULTS_RECORD names a file, the counts are written to it as JSON.
void count(const std::string& work, const std::string& call, Outcome outcome);

/// Aborts a test that hangs, and names the run. The run named `running` may take one minute during the object's
/// lifetime.
class Watchdog {
public:
    explicit Watchdog(const std::string& running);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace faults
