// The one way to start a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/stack_depth.hpp"

namespace warpaes::cuda {

/// Throws Error{DEVICE_MEMORY or DEVICE}, naming what failed and CUDA's own words.
inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    const auto status = error == cudaErrorMemoryAllocation ? WARPAES_ERROR_DEVICE_MEMORY : WARPAES_ERROR_DEVICE;
    (void)cudaGetLastError();  // a failure that is reported must not turn up again in the next call
    throw Error(status, std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

/// 16, 4 or 1: what every address is a multiple of whose bits are among `bits`.
constexpr std::uint32_t alignment_of(std::uint64_t bits) {
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}

template <typename... Expected, typename... Actual>
void launch(void (*kernel)(Expected...), int grid, int threads, std::size_t shared_bytes, cudaStream_t stream,
            Actual&&... arguments) {
    if (shared_bytes != 0) {
        check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)),
              "reserving shared memory");
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(grid));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    constexpr std::size_t of_the_runtime = 4096;  // which copies arguments, the round keys among them
    note_stack_depth(of_the_runtime);
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), "launching a kernel");
}

}  // namespace warpaes::cuda
