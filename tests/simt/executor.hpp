// Between the runtime and the executor.
#pragma once

#include "cuda_runtime.h"

namespace simt {

/// Runs a grid and returns when it is done. The configuration is a legal one. Thread-safe.
void execute(const dim3& grid, const dim3& block, std::size_t shared_bytes, const Launch& launch);

/// Whether the caller is a simulated thread, where the runtime's functions may not be called.
[[nodiscard]] bool in_kernel();

}  // namespace simt
