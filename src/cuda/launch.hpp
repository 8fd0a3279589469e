// The one way to start a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "base/stack_depth.hpp"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

/// Whether it succeeded. An error of ours is not for the caller to find in the next cudaGetLastError() of its own.
inline bool try_to(cudaError_t error) noexcept {
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

/// Throws Error{DEVICE_MEMORY or DEVICE}, naming what failed and CUDA's own words.
inline void check(cudaError_t error, const char* what) {
    if (try_to(error)) return;
    const auto status = error == cudaErrorMemoryAllocation ? WARPAES_ERROR_DEVICE_MEMORY : WARPAES_ERROR_DEVICE;
    throw Error(status, std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

/// Into a kernel's parameters: what the mode takes in this direction.
inline void copy_round_keys(std::uint32_t (&to)[60], const ExpandedKey& key, Mode mode, Direction direction) {
    const RoundKeys& keys = key.round_keys(mode, direction);
    static_assert(sizeof to == sizeof keys.words);
    std::memcpy(to, keys.words.data(), sizeof to);
}

/// Lets thread blocks of `kernel` on the current device have so many bytes of shared memory. Asked for once, as asking
/// takes 0.3 µs (H200, 2026-11). Thread-safe. Throws Error{DEVICE}.
void allow_shared_bytes(const void* kernel, std::size_t bytes);

template <typename... Expected, typename... Actual>
void launch(void (*kernel)(Expected...), const LaunchShape& shape, cudaStream_t stream, Actual&&... arguments) {
    allow_shared_bytes(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.grid));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    constexpr std::size_t of_the_runtime = 4096;  // which copies arguments, the round keys among them, as the next call
    note_stack_depth(of_the_runtime + (sizeof(Expected) + ...));
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), "launching a kernel");
}

}  // namespace warpaes::cuda
