// Counts the outcomes of injected faults; with WARPAES_FAULTS_RECORD it writes them to that file as JSON.
#pragma once

#include <string>

namespace faults {

enum class Outcome {
    completed,  ///< with the right bytes
    refused,    ///< an error, and no file remains
    missed,  ///< the run made fewer calls than the one that was counted: nothing was injected; the tests bound how many
    wrong
};

void count(const std::string& work, const std::string& call, Outcome outcome);

}  // namespace faults
