// Counts the outcomes of a fault's runs and aborts a run that hangs.
#pragma once

#include <string>

namespace faults {

enum class Outcome {
    completed,  ///< the output is right
    refused,    ///< the job reported an error and left no file
    missed,     ///< the run made fewer calls than the counted run, so no fault was injected; tests limit the number of
                ///< such runs
    wrong
};

/// Counts an outcome. If WARPAES_FAULTS_RECORD names a file, the counts are written to it as JSON.
void count(const std::string& work, const std::string& call, Outcome outcome);

/// Aborts a test that hangs and prints the name of the run. During the object's lifetime, the run named `running` may
/// take one minute.
class Watchdog {
public:
    explicit Watchdog(const std::string& running);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace faults
