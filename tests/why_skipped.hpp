// What tests say that several programs have in common: why they cannot run here, and which machine or build runs them.
#pragma once

#include <string>

namespace warpaes::test {

/// Of a test on a GPU; `why`: what is missing.
inline std::string needs_gpu(const std::string& why) {
    return "needs a GPU (" + why +
           "); a build with CUDA runs this where there is an NVIDIA GPU of compute capability 8.0 or newer, and the "
           "test of this name after \"simulated.\" runs it on every machine";
}

}  // namespace warpaes::test
