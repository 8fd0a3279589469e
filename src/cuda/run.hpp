// Enqueues the kernels of a run on a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "backend/cuda_backend.hpp"
#include "backend/stretch.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/resources.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

class DeviceCalls;

/// Returns the compute capability (90 for 9.0) of the machine code or PTX in this build that runs on a device; 0 if
/// this build has no such code.
int code_for(int major, int minor);

/// Enqueues `run`, whose buffers are memory of the current device. Scratch memory is allocated and freed in stream
/// order. Returns whether the kernel sets `notice`; if it does not, the caller must wait for the stream.
bool enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice = {});
void enqueue_xts(const Run& run, const DeviceLimits& device, cudaStream_t stream);
/// Enqueues the run if a kernel for short messages can process it; that kernel sets `notice`. Otherwise enqueues
/// nothing and returns false.
bool enqueue_short(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice);
/// Rows of device memory to wipe.
struct WipeRun {
    std::uint8_t* memory;
    std::uint64_t stride, bytes, rows;
    const std::uint8_t* marks = nullptr;  ///< in device memory: 0 for a row to keep; null: all rows are wiped
};
void enqueue_wipe(const WipeRun& run, const DeviceLimits& device, cudaStream_t stream);
/// A message that is wiped if its tag is wrong.
struct WipeIfWrongRun {
    std::uint8_t* output;
    std::uint64_t bytes;
    unsigned* shares;      ///< HostShares::kept of the previous run
    unsigned share_count;  ///< number of thread blocks of that run; 0: the tag is known to be wrong
    TagCheck check;
};
/// Returns the check of a tag that is in host or device memory. `status`, in device memory, may be null.
TagCheck check_of(std::span<const std::uint8_t> expected, bool is_on_device, std::int32_t* status);
void enqueue_wipe(const WipeIfWrongRun& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice);
/// Enqueues a run of random numbers. The output must be in memory of the current device.
void enqueue(const NumbersRun& run, const DeviceLimits& device, cudaStream_t stream);
/// Runs GCM-SIV on memory of the current device. The run starts after earlier work on the default stream and is
/// complete on return.
void run(const GcmSivRun& run, const DeviceLimits& device, DeviceCalls& calls);
/// Device memory that no other work uses until the stream has passed the run.
struct GcmScratch {
    DeviceBuffer& buffer;
    GcmSum* sum;  ///< zeros, which are restored when the stream has passed the run
    HostShares shares{};
};
/// A whole GCM message with its `aad_digest`, as a run.
struct GcmMessageRun {
    Block j0;
    GcmRun run;

    /// `tag` receives the correct tag of the message.
    GcmMessageRun(const MessageGroup& g, Block* tag)
        : j0(j0_of(g)),
          run{.direction = g.direction,
              .key = g.key,
              .input = g.input.first,
              .output = g.output.first,
              .segment_bytes = g.length,
              .last_bytes = g.length,
              .input_stride = g.length,
              .output_stride = g.length,
              .j0 = &j0,
              .public_counters = g.j0 == nullptr,
              .result = GcmRun::Result::tag,
              .aad_digest = g.aad_digest != nullptr ? *g.aad_digest : Block{},
              .aad_bytes = g.aad_length,
              .results = tag} {}
    GcmMessageRun(const GcmMessageRun&) = delete;
    GcmMessageRun& operator=(const GcmMessageRun&) = delete;
};
/// Enqueues a GCM run. `results` is memory that the device can write to. With `scratch`, the caller keeps `j0` until
/// the stream has passed the run. Without `scratch`, the scratch memory is allocated in stream order, and `j0` has been
/// read when the function returns. Returns how many thread blocks store a share in `scratch->shares`, whose sum is the
/// result; 0: the result is in `results` when the stream has passed the run.
unsigned enqueue(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream,
                 const GcmScratch* scratch = nullptr);
/// Enqueues the encryption of one GCM message. Only `j0` is in host memory, and it has been read when the function
/// returns.
void enqueue_seal(const GcmRun& run, const DeviceLimits& device, cudaStream_t stream, StreamPieces& pieces);
/// Enqueues the decryption of one GCM message. Only `j0` and possibly `expected` are in host memory, and both have been
/// read when the function returns. `status`, in device memory, receives whether the tag is `expected`; if it is not,
/// the output is wiped.
void enqueue_open(const GcmRun& run, std::span<const std::uint8_t> expected, bool expected_on_device,
                  std::int32_t* status, const DeviceLimits& device, cudaStream_t stream, StreamPieces& pieces);

}  // namespace warpaes::cuda
