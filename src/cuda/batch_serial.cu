// Batches of modes in which each block waits for the one before.
#include <cstring>

#include "cuda/batch_launch.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"

namespace warpaes::cuda {

void prepare_serial(Bucket& bucket, const DeviceLimits&) {
    sort_groups(bucket, [](const BatchGroup& g) { return g.length + g.aad_length; });
    number_groups(bucket, [](const BatchGroup&) { return std::uint64_t{0}; });
}

void enqueue_serial(const Bucket& bucket, const DeviceLimits& device, cudaStream_t stream) {
    const SerialBatchShape shape = serial_batch_shape(device, bucket.messages);
    const Secret<BatchParams> batch = params_of(bucket);
    Secret<SerialParams> p;
    std::memcpy(&p->batch, &*batch, sizeof *batch);
    p->warps = static_cast<std::uint32_t>(shape.warps);
    p->staged = shape.staged ? 1 : 0;
    p->decrypts = bucket.direction == Direction::decrypt ? 1 : 0;
    launch(serial_batch_kernel_for(bucket.mode, bucket.rounds, shape.tables), shape.grid, SerialBatchShape::threads,
           shape.shared_bytes, stream, *p);
}

}  // namespace warpaes::cuda
