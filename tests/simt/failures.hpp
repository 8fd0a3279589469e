// How calls to CUDA fail, for tests that let each of them fail in turn.
#pragma once

#include <limits>

#include "cuda_runtime.h"

namespace simt {

/// For fail_call().
struct Failure {
    cudaError_t error;
    int times;
};

/// Once; once for want of memory; and from then on always, as after an error that ends the context.
inline constexpr Failure failures[] = {{cudaErrorUnknown, 1},
                                       {cudaErrorMemoryAllocation, 1},
                                       {cudaErrorIllegalAddress, std::numeric_limits<int>::max() / 2}};

}  // namespace simt
