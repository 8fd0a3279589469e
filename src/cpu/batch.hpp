// Groups of many messages on the CPU.
#pragma once

#include <span>

#include "backend/stretch.hpp"
#include "cpu/gcm_batch.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// `short_gcm`: the function for a single short GCM message.
void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
               std::span<const MessageGroup> groups);

}  // namespace warpaes::cpu
