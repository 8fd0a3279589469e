// What the kernel of batch_keys.cuh is told: either the groups of a bucket, of which those with raw keys get slots, or
// keys at equal distances and where their slots are, which other batches may read, in any mode.
#pragma once

#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

struct KeyParams {
    BatchParams batch;    ///< its groups, or null
    std::uint64_t count;  ///< messages of the groups, or keys

    const std::uint8_t* raw;
    std::uint64_t raw_stride;
    uint4* const* targets;

    std::uint32_t inverse;   ///< round keys of the equivalent inverse cipher
    std::uint32_t hash_key;  ///< of a bucket's slots: E(K, 0) too, which the others always have beside forward keys
};

using KeyKernel = void (*)(KeyParams);
KeyKernel batch_keys_kernel_for(int rounds);
/// Of its tables.
inline constexpr int batch_keys_tables = 2;

}  // namespace warpaes::cuda
