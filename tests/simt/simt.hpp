// The tests' interface to the simulated machine: its properties, its failures, and the resources that have not been
// freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "cuda_runtime.h"

namespace simt {

/// A machine with `devices` equal GPUs. They have few multiprocessors, so that a persistent kernel launches few blocks.
///
/// Environment variables set the properties; the process reads them at the first use: WARPAES_SIMT_DEVICES,
/// _MULTIPROCESSORS, _COMPUTE_CAPABILITY (for example "9.0"; also sets the shared memory and the threads),
/// _SHARED_MEMORY, _MEMORY (bytes), _BACKWARDS (1), _GUARDED (1), _CONFIDENTIAL (1), _LATE (1, or a seed).
struct Machine {
    /// With 0 devices, every call fails with `absence`, for example as on a machine without a GPU or with an old
    /// driver.
    int devices = 1;
    cudaError_t absence = cudaErrorNoDevice;
    int multiprocessors = 2;
    /// The maximum dynamic shared memory of a block after opting in, in bytes. The default is the limit of compute
    /// capability 9.0.
    std::size_t shared_memory_per_block = 232448;
    int threads_per_multiprocessor = 2048;
    int blocks_per_multiprocessor = 32;
    /// Shared memory that the system reserves in each block, in bytes.
    std::size_t reserved_shared_memory = 1024;
    /// The compute capability. Before 8.0, a product of bits aborts the process.
    int major = 9;
    int minor = 0;
    /// The memory of each device in bytes. An allocation beyond it fails with cudaErrorMemoryAllocation.
    std::size_t memory = std::size_t{1} << 30;
    /// Threads and blocks run from the last to the first. If this changes a kernel's result, the kernel has a race.
    bool backwards = false;
    /// Device memory lies on pages that only kernels and copies can access. If the host dereferences a device pointer,
    /// the process receives a segmentation fault, as on a real machine. Applies to later allocations.
    bool guarded = false;
    /// As in NVIDIA's confidential computing, cudaHostRegister is not supported and returns error 801.
    bool confidential = false;
    /// With 0, streams run their work immediately. With 1, streams run their work only when something waits for it, so
    /// a consumer that lacks the required wait finds unfinished work. With 2 or more, randomly selected streams also
    /// run ahead, with this number as the seed, so work that should have waited comes first.
    unsigned late = 0;

    [[nodiscard]] static Machine from_environment();
    /// Sets the properties of a compute capability from CUDA's tables.
    void become(int its_major, int its_minor);
};

/// Replaces the machine, and resets pending failures and the counts of calls. Memory and handles are unchanged.
void reset(const Machine& machine = Machine::from_environment());
[[nodiscard]] const Machine& machine();

/// Makes the `nth` following call to `function`, counted from 1, and the `times - 1` calls after it fail with `error`
/// without any effect. "*" counts the calls to all functions. The environment variable
/// WARPAES_SIMT_FAIL="cudaMalloc:2:2" has the same effect. Its fields are function, nth, and the error's number.
void fail_call(std::string_view function, int nth, cudaError_t error, int times = 1);
/// Returns the number of calls to `function` since the last reset. "*" counts the calls to all functions.
[[nodiscard]] std::uint64_t calls(std::string_view function);

/// Sets a function that is called before every runtime call, on the same thread, with the name of the runtime function.
/// To simulate other events at that moment, it may itself call the runtime. An empty function removes it.
void on_call(std::function<void(std::string_view)> observer);

/// Sets a function that is called before every launch with its configuration. An empty function removes it.
void on_launch(std::function<void(const cudaLaunchConfig_t&)> observer);

/// Sets a function that is called after every thread block of a kernel. It must not call the runtime's functions. An
/// empty function removes it. No kernel may be running during this call.
void on_block(std::function<void()> observer);

/// The resources that have been allocated and not freed.
struct Usage {
    std::size_t device_allocations = 0;
    std::size_t device_bytes = 0;
    std::size_t host_allocations = 0;  ///< page-locked memory, including registered memory
    std::size_t host_bytes = 0;
    std::size_t streams = 0;
    std::size_t events = 0;
    std::size_t user_objects = 0;
    friend bool operator==(const Usage&, const Usage&) = default;
};
[[nodiscard]] Usage usage();

/// Sets a function that is called with memory that is about to be freed or unregistered, for example to check that the
/// memory was wiped. An empty function removes it.
void on_free(std::function<void(cudaMemoryType, std::span<const std::uint8_t>)> observer);
/// Calls `look` with each allocation of device memory and of page-locked memory.
void look_at_memory(const std::function<void(cudaMemoryType, std::span<const std::uint8_t>)>& look);

/// The arguments of fail_call().
struct Failure {
    cudaError_t error;
    int times;
};

/// A call fails once, fails once for lack of memory, or fails permanently, as after an error that destroys the context.
inline constexpr Failure failures[] = {{cudaErrorUnknown, 1},
                                       {cudaErrorMemoryAllocation, 1},
                                       {cudaErrorIllegalAddress, std::numeric_limits<int>::max() / 2}};

}  // namespace simt
