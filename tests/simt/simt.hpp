// The simulated machine, seen from a test: what it looks like, what goes wrong on it, what has been left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cuda_runtime.h"

namespace simt {

/// A machine with `devices` equal GPUs. Few multiprocessors, so that a persistent kernel launches few blocks.
///
/// Each has an environment variable, read when the process first needs it: WARPAES_SIMT_DEVICES, _MULTIPROCESSORS,
/// _COMPUTE_CAPABILITY (as "9.0": with the shared memory and the threads of such machines), _SHARED_MEMORY, _MEMORY
/// (bytes), _BACKWARDS (1), _GUARDED (1), _LATE (1, or a seed).
struct Machine {
    /// None: every call fails with `absence`, as without a GPU (or, say, with cudaErrorInsufficientDriver).
    int devices = 1;
    cudaError_t absence = cudaErrorNoDevice;
    int multiprocessors = 2;
    /// What a block can opt in to, in bytes; these are compute capability 9.0's.
    std::size_t shared_memory_per_block = 232448;
    int threads_per_multiprocessor = 2048;
    int major = 9;
    int minor = 0;
    /// Of each device, in bytes: an allocation beyond it is cudaErrorMemoryAllocation.
    std::size_t memory = std::size_t{1} << 30;
    /// Threads and blocks take turns from the last to the first: a kernel whose result this changes has a race.
    bool backwards = false;
    /// Device memory lies on pages that only kernels and copies can touch: who follows a device pointer on the host has
    /// a segmentation fault, as on a real machine. For allocations from then on.
    bool guarded = false;
    /// 1: streams do their work when somebody waits for it, and not before: what should have waited does not find it
    /// done. From 2 on: some are ahead of others, as chance has it, of which this is the seed: what should have waited
    /// comes first.
    unsigned late = 0;

    [[nodiscard]] static Machine from_environment();
    /// What CUDA's tables say of this compute capability.
    void become(int its_major, int its_minor);
};

/// Replaces the machine and drops the failures to come and the counts of calls. Memory and handles stay as they are.
void reset(const Machine& machine = Machine::from_environment());
[[nodiscard]] const Machine& machine();

/// The `nth` call of `function` from now on, counted from 1, and the `times - 1` after it fail with `error` and do
/// nothing. "*" counts the calls of every function. WARPAES_SIMT_FAIL="cudaMalloc:2:2" does it from outside: function,
/// nth, the error's number.
void fail_call(std::string_view function, int nth, cudaError_t error, int times = 1);
/// Calls of `function` since the last reset; "*": of all.
[[nodiscard]] std::uint64_t calls(std::string_view function);

/// What is said of the capture of every stream from now on; nothing is ever captured.
void set_capture(cudaStreamCaptureStatus status);

/// Called before every launch with its configuration. An empty function ends it.
void on_launch(std::function<void(const cudaLaunchConfig_t&)> observer);

/// What exists and has not been freed.
struct Usage {
    std::size_t device_allocations = 0;
    std::size_t device_bytes = 0;
    std::size_t host_allocations = 0;  ///< page-locked, registered ones too
    std::size_t host_bytes = 0;
    std::size_t streams = 0;
    std::size_t events = 0;
    friend bool operator==(const Usage&, const Usage&) = default;
};
[[nodiscard]] Usage usage();

/// Called with memory that is about to be freed or unregistered: was it wiped? An empty function ends it.
void on_free(std::function<void(cudaMemoryType, std::span<const std::uint8_t>)> observer);
/// Calls it with all device memory and all page-locked memory that there is.
void look_at_memory(const std::function<void(cudaMemoryType, std::span<const std::uint8_t>)>& look);

}  // namespace simt
