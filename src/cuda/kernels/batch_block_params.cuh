// What the kernels of batch_blocks.cuh and batch_xts.cuh are told.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

struct BlockParams {
    BatchParams batch;  ///< units are blocks, a partial one included
    /// Chaining decryption in place: the ciphertext block before each warp's stretch, saved beforehand. Else null.
    uint4* boundaries;
};

/// What a group of XTS has besides.
struct XtsPart {
    const uint4* tweak_keys;      ///< a slot
    std::uint64_t first_tweak;    ///< data units of the launch's groups before it
    std::uint64_t unit_bytes;     ///< of a data unit; at most the message's
    std::uint32_t unit_blocks;    ///< whole blocks of a data unit
    std::uint32_t message_units;  ///< data units of a message
    std::uint64_t blocks;         ///< whole blocks of a message, of all its data units
};

struct BatchXtsParams {
    BatchParams batch;  ///< units are whole blocks
    const XtsPart* parts;
    uint4* tweaks;  ///< of every data unit: number of the launch, encrypted
    std::uint64_t tweak_count;
    std::uint32_t tweak_keys[60];  ///< with BatchParams::one_key
};

using BlockKernel = void (*)(BlockParams);
BlockKernel batch_blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables, bool one_key);
using BatchBoundaries = void (*)(BlockParams, std::uint64_t warps);
BatchBoundaries batch_boundaries_kernel();

using BatchXtsKernel = void (*)(BatchXtsParams);
BatchXtsKernel batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key);
BatchXtsKernel batch_tweaks_kernel_for(int rounds, int tables, bool one_key);

}  // namespace warpaes::cuda
