// From a run to kernels on a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda_backend.hpp"
#include "backend/stretch.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/launch_table.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

class DeviceCalls;

/// Whether this build has machine code, or PTX that the driver can compile, for devices of this compute capability.
bool has_code_for(int major, int minor);

/// Enqueues `run`, whose buffers are memory of the current device. Scratch memory is taken from and given back to the
/// stream. Whether its kernel gives `notice`; where it does not, the stream alone knows when it is done.
bool enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice = {});
/// The same for a run of XTS.
void enqueue_xts(const Run& run, const DeviceLimits& device, cudaStream_t stream);
/// The same if there is a kernel for short messages that takes this one; it gives notice. Else nothing is enqueued.
bool enqueue_short(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice);
/// The same for random numbers, whose output is memory of the current device.
void enqueue(const NumbersRun& run, const DeviceLimits& device, cudaStream_t stream);
/// GCM-SIV on memory of the current device, complete on return after what the default stream held before.
void run(const GcmSivRun& run, const DeviceLimits& device, DeviceCalls& calls);
/// Device memory that nobody else uses until the stream is through.
struct GcmScratch {
    DeviceBuffer& buffer;
    GcmSum* sum;  ///< zeros, and again when the stream is through
    Notice notice{};
};
/// The same for GCM. `results` is memory that the device can write. With `scratch` the caller keeps `j0` until the
/// stream is through; without it the scratch memory is the stream's, and `j0` has been read when this returns.
bool enqueue(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, const GcmScratch* scratch = nullptr);

}  // namespace warpaes::cuda
