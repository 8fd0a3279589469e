// The kinds of failure of CUDA calls, for tests that make each call fail in turn.
#pragma once

#include <limits>

#include "cuda_runtime.h"

namespace simt {

/// Arguments of fail_call().
struct Failure {
    cudaError_t error;
    int times;
};

/// A call fails once, once for lack of memory, or permanently, as after an error that destroys the context.
inline constexpr Failure failures[] = {{cudaErrorUnknown, 1},
                                       {cudaErrorMemoryAllocation, 1},
                                       {cudaErrorIllegalAddress, std::numeric_limits<int>::max() / 2}};

}  // namespace simt
