// Counts the outcomes of injected faults. If WARPAES_FAULTS_RECORD names a file, writes them to it as JSON.
#pragma once

#include <string>

namespace faults {

enum class Outcome {
    completed,  ///< the output is right
    refused,    ///< the job reported an error and left no file
    missed,     ///< the run made fewer calls than the counted run, so no fault was injected; tests limit their number
    wrong
};

void count(const std::string& work, const std::string& call, Outcome outcome);

}  // namespace faults
