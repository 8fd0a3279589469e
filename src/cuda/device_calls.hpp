// Messages in device memory that a caller waits for.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/stretch.hpp"
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

/// What a run of GCM writes besides its output.
struct GcmMemory {
    DeviceBuffer scratch, sum;
    PageLockedBuffer results;

    /// Zeros; cleared on `stream` if they are new.
    GcmSum* sum_on(cudaStream_t stream);
};

/// Of a device: what one call takes is the next one's. Neither a plan nor a lane stands between a caller and the
/// default stream, and kernels that can do so tell the host themselves that they are done (kernels/notice.cuh).
/// Thread-safe.
class DeviceCalls {
public:
    DeviceCalls();
    ~DeviceCalls();

    /// Run a message whose buffers are memory of the current device, complete on return after what the default stream
    /// held before. Throw Error{DEVICE, DEVICE_MEMORY}.
    void run(const Run& run, const DeviceLimits& limits);
    void run(const GcmRun& run, const DeviceLimits& limits);

private:
    struct Memory;
    /// `enqueue(memory, notice)` says whether notice will be given; then `done(memory)`.
    template <typename Enqueue, typename Done>
    void wait_for(const Enqueue& enqueue, const Done& done);

    std::mutex mutex_;
    std::vector<std::unique_ptr<Memory>> free_;
};

}  // namespace warpaes::cuda
