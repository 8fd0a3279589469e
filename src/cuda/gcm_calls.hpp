// Messages of GCM in device memory that a caller waits for.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/stretch.hpp"
#include "cuda/kernels/gcm_sum.hpp"
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

/// What a run of GCM writes besides its output.
struct GcmMemory {
    DeviceBuffer scratch, sum;
    PageLockedBuffer results;

    /// Zeros; cleared on `stream` if they are new.
    GcmSum* sum_on(cudaStream_t stream);
};

/// Of a device: what one call takes is the next one's. Neither a plan nor a lane stands between a caller and the
/// default stream. H200, 2026-11, GCM-128, call to completion, microseconds so and by a lane: 4 KiB 19.4 and 25.9,
/// 64 KiB 20.7 and 29.2, 1 MiB 22.3 and 31.5, 8 MiB 33.1 and 45.0; of CTR, whose way is the same, on the two hosts 15.3
/// and 17.3 for 4 KiB. Thread-safe.
class GcmCalls {
public:
    /// Runs a message whose buffers are memory of the current device, complete on return after what the default stream
    /// held before. Throws Error{DEVICE, DEVICE_MEMORY}.
    void run(const GcmRun& run, const DeviceLimits& limits);

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<GcmMemory>> free_;
};

}  // namespace warpaes::cuda
