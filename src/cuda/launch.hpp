// The only code that launches kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "base/stack_depth.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Returns whether the call succeeded. Clears an error that this library caused, so that the caller's next
/// cudaGetLastError() does not report it.
inline bool try_to(cudaError_t error) noexcept {
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

/// Throws Error{DEVICE_MEMORY} or Error{DEVICE} with the failed operation and CUDA's own message.
inline void check(cudaError_t error, const char* what) {
    if (try_to(error)) return;
    const auto status = error == cudaErrorMemoryAllocation ? WARPAES_ERROR_DEVICE_MEMORY : WARPAES_ERROR_DEVICE;
    throw Error(status, std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

/// Copies the round keys that the mode uses in this direction to a kernel's parameters.
inline void copy_round_keys(std::uint32_t (&to)[60], const ExpandedKey& key, Mode mode, Direction direction) {
    const RoundKeys& keys = key.round_keys(mode, direction);
    static_assert(sizeof to == sizeof keys.words);
    std::memcpy(to, keys.words.data(), sizeof to);
}

/// Allows thread blocks of `kernel` to use `bytes` bytes of shared memory on the current device. CUDA is called only if
/// no earlier call allowed as much, because the call takes 0.3 µs (H200, 2026-11). Thread-safe. Throws Error{DEVICE}.
void allow_shared_bytes(const void* kernel, std::size_t bytes);

/// Whether a kernel may begin before the previous kernel on the stream has ended; it then waits for that kernel itself
/// (kernels/notice.cuh).
enum class Begin { after, early };

template <typename... Expected, typename... Actual>
void launch(Begin begin, void (*kernel)(Expected...), const LaunchShape& shape, cudaStream_t stream,
            Actual&&... arguments) {
    allow_shared_bytes(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.grid));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = begin == Begin::early ? 1 : 0;
    // The call below copies the arguments, which contain round keys, and so does the runtime.
    constexpr std::size_t of_the_runtime = 4096;
    note_stack_depth(of_the_runtime + 2 * (sizeof(Expected) + ...));
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), "launching a kernel");
}

template <typename... Expected, typename... Actual>
void launch(void (*kernel)(Expected...), const LaunchShape& shape, cudaStream_t stream, Actual&&... arguments) {
    launch(Begin::after, kernel, shape, stream, std::forward<Actual>(arguments)...);
}

}  // namespace warpaes::cuda
