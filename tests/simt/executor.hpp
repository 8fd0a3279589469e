// The interface between the runtime and the executor.
#pragma once

#include "cuda_runtime.h"

namespace simt {

/// Runs a grid and returns when it has finished. The caller has checked the configuration. Thread-safe.
void execute(const dim3& grid, const dim3& block, std::size_t shared_bytes, const Launch& launch);

/// Returns whether the caller is a simulated thread, which must not call the runtime's functions.
[[nodiscard]] bool in_kernel();

}  // namespace simt
