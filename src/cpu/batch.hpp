// Batches on the CPU: Lane::run_batch of its backends.
#pragma once

#include <span>

#include "backend/backend.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

void run_batch(Lane& lane, const SimdBatchKernels& kernels, std::span<const MessageGroup> groups);
void run_batch_libcrypto(Lane& lane, std::span<const MessageGroup> groups);

}  // namespace warpaes::cpu
