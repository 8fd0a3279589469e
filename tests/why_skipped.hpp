// Reasons to skip a test that several programs share. Each reason names the machine or build that runs the test.
#pragma once

#include <string>

namespace warpaes::test {

/// Returns the reason for skipping a test that needs a GPU. `why` names the missing part.
inline std::string needs_gpu(const std::string& why) {
    return "needs a GPU (" + why +
           "); a build with CUDA runs this where there is an NVIDIA GPU of compute capability 8.0 or newer, and the "
           "test of this name after \"simulated.\" runs it on every machine";
}

}  // namespace warpaes::test
