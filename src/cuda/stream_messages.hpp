// GCM messages on a caller's stream with their own launches: one message, or the few long messages of a batch.
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "backend/group.hpp"
#include "cuda/resources.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Enqueues one message (see CudaBackend::run).
void enqueue_message(const MessageGroup& message, const DeviceLimits& limits, cudaStream_t stream,
                     StreamPieces& pieces);

/// Whether all messages of a batch are long GCM messages, and their own launches are faster than the kernels for
/// batches. False if the stream is in capture.
[[nodiscard]] bool are_worth_own_launches(std::span<const MessageGroup> groups, const DeviceLimits& limits,
                                          cudaStream_t stream);

/// Enqueues the messages of a batch for which are_worth_own_launches() is true (see CudaBackend::enqueue).
void enqueue_one_by_one(std::span<const MessageGroup> groups, const DeviceLimits& limits, cudaStream_t stream,
                        StreamPieces& pieces);

}  // namespace warpaes::cuda
