// What a kernel is told: the same for every kernel, passed by value, so that the round keys are constant-bank operands
// and no copy of the key is left in device memory that we allocate.
#pragma once

#include <cstdint>

#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

struct Params {
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t length;  ///< as in Run: bytes, for CFB1 bits
    uint4 chain;           ///< as in Run, a block in memory order
    /// Chaining decryption in place: the ciphertext block before each warp's stretch, saved beforehand. Else null.
    const uint4* boundaries;
    std::uint32_t alignment;  ///< 16, 4 or 1: what both pointers are multiples of
    std::uint32_t round_keys[60];
};

}  // namespace warpaes::cuda
