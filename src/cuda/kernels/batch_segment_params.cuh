// What the kernels of batch_segments.cuh are told.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

struct SegmentParams {
    BatchParams batch;  ///< units are bytes
    std::uint8_t* ciphertext;
    std::uint32_t bits;  ///< lengths count bits
};

using SegmentKernel = void (*)(SegmentParams);
/// CFB8 and CFB1 decryption.
SegmentKernel batch_segments_kernel_for(Mode mode, int rounds, int tables, bool one_key);
/// Copies all messages to `ciphertext`, one behind the other.
SegmentKernel batch_copy_kernel_for();

}  // namespace warpaes::cuda
