// What the kernels for many short messages of GCM are told.
#pragma once

#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

/// Of GHASH of a long message.
inline constexpr std::uint64_t ghash_piece_blocks = 4096;

struct GcmBatchParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint64_t first, end;  ///< numbers of the groups' messages
    std::uint64_t pieces;      ///< of a message of the longest group
    BatchGroup* rewritten;     ///< groups whose IVs are J0s
    uint4* j0s;                ///< a block for every message whose IV is not of 12 bytes
    uint4* pads;               ///< E(J0) of every message
    uint4* digests;            ///< S of every message (SP 800-38D, 7.1, step 5); of long ones at first that of the text
    std::uint32_t decrypts;
};

}  // namespace warpaes::cuda
