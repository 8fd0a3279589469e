// GCM-SIV (RFC 8452): a separate key stream, and POLYVAL, which is GHASH of blocks whose bytes are reversed.
#include <cstring>

#include "base/secret.hpp"
#include "cuda/device_calls.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

void add_key_stream(const GcmSivRun& run, const DeviceLimits& device, cudaStream_t stream) {
    const LaunchShape shape = launch_shape(device, (run.bytes + 32 * block_bytes - 1) / (32 * block_bytes));
    Secret<Params> p;
    p->input = run.input;
    p->output = run.output;
    p->length = run.bytes;
    std::memcpy(&p->chain, run.counter.data(), block_bytes);
    p->boundaries = nullptr;
    p->alignment = alignment_of(run.input, run.output);
    copy_round_keys(p->round_keys, *run.key, Mode::ctr, Direction::encrypt);
    launch(siv_ctr_kernel_for(run.key->rounds(), shape.tables, p->alignment == 16), shape, stream, *p);
}

}  // namespace

void run(const GcmSivRun& run, const DeviceLimits& device, DeviceCalls& calls) {
    const DefaultStream stream;
    if (run.output != nullptr) add_key_stream(run, device, stream.get());
    // GHASH may run on a different stream.
    if (run.digest == nullptr || stream.get() != nullptr) stream.synchronize();
    if (run.digest == nullptr) return;
    calls.run(GcmRun{.direction = Direction::encrypt,
                     .key = run.key,
                     .input = run.output != nullptr ? run.output : run.input,
                     .output = nullptr,
                     .segment_bytes = run.bytes,
                     .last_bytes = run.bytes,
                     .input_stride = run.bytes,
                     .results = run.digest,
                     .reversed = true},
              device);
}

}  // namespace warpaes::cuda
