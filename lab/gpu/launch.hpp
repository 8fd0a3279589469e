// Access to dynamic shared memory on GPUs and in the simulator, and the function that launches kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lab/gpu/check.hpp"

namespace lab::gpu {

#if defined(WARPAES_SIMT)
inline unsigned char* dynamic_shared() {
    return simt::dynamic_shared();
}
#else
extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
__device__ __forceinline__ unsigned char* dynamic_shared() {
    return dynamic_shared_memory;
}
#endif

/// Requests more than 48 KiB of dynamic shared memory. A smaller request would lower the kernel's limit, so that a
/// later launch with up to 48 KiB could fail.
inline void allow_shared(const void* kernel, std::size_t bytes) {
    if (bytes <= 48 * 1024) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "reserving shared memory");
}

/// Enqueues a kernel, and requests dynamic shared memory above 48 KiB.
template <typename... Expected, typename... Actual>
void launch(void (*kernel)(Expected...), unsigned blocks, unsigned threads, std::size_t shared_bytes,
            const Stream& stream, Actual&&... arguments) {
    allow_shared(reinterpret_cast<const void*>(kernel), shared_bytes);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream.get();
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), "launching a kernel");
}

}  // namespace lab::gpu
