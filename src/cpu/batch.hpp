// Groups of many messages on the CPU.
#pragma once

#include <span>

#include "backend/stretch.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, std::span<const MessageGroup> groups);

}  // namespace warpaes::cpu
