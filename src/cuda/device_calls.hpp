// Calls that process messages in device memory and wait for the result.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/stretch.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Memory that a GCM run writes in addition to its output.
struct GcmMemory {
    DeviceBuffer scratch, sum;
    PageLockedBuffer results;

    /// Returns a sum that is zero; it is cleared on `stream` when newly allocated.
    GcmSum* sum_on(cudaStream_t stream);
};

/// There is one object per device. A call's memory is reused by the next call, and some memory is allocated at the
/// start; if the device is out of memory, calls wait for the memory of other calls. A call uses the default stream
/// directly, without a plan or a lane, and kernels that can notify the host do so themselves (kernels/notice.cuh).
/// Thread-safe.
class DeviceCalls {
public:
    DeviceCalls();
    ~DeviceCalls();

    /// Runs a message whose buffers are memory of the current device. The message is complete on return, after earlier
    /// work on the default stream. Throws Error{DEVICE} or Error{DEVICE_MEMORY}.
    void run(const Run& run, const DeviceLimits& limits);
    /// Like run() above. If `expected` is not empty, returns whether it is the tag of the decrypted message; if it is
    /// not, the output has been wiped.
    bool run(const GcmRun& run, const DeviceLimits& limits, std::span<const std::uint8_t> expected = {});

private:
    struct Memory;
    /// Calls `call(memory, stream)` with memory that no other call uses.
    template <typename Call>
    void with_memory(const Call& call);
    /// Allocates memory for the first call in advance, if the device has enough free memory.
    void keep_some() noexcept;
    [[nodiscard]] std::unique_ptr<Memory> take(cudaStream_t stream);
    void give_back(std::unique_ptr<Memory> memory);
    void give_up(std::unique_ptr<Memory> memory) noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<Memory>> free_;
    std::size_t made_ = 0;  ///< number of allocated memories that have not been freed
};

}  // namespace warpaes::cuda
