// What the XTS kernel is told; see params.cuh.
#pragma once

#include <cstdint>

#include "aes/xts.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// Of a thread block.
inline constexpr int xts_threads = 1024;

struct XtsParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    Tweak first_number;
    std::uint64_t units;
    std::uint64_t unit_bytes;
    /// Pieces of a thread block; the first `blocks_with_more` have one more.
    std::uint64_t pieces_per_block;
    std::uint32_t blocks_with_more;
    std::uint32_t pieces_per_unit;
    std::uint32_t piece_blocks;  ///< of a piece that is not the last of its unit; then a multiple of 32
    std::uint32_t width;         ///< lanes that a unit keeps busy
    /// Whole blocks of a data unit, and the bytes after them, which the last block's thread sees to; the message's last
    /// unit may be shorter.
    std::uint32_t unit_blocks, unit_rest;
    std::uint32_t last_unit_blocks, last_unit_rest;
    std::uint32_t alignment;  ///< 16, 4 or 1: what all data units begin at
    std::uint32_t round_keys[60];
    std::uint32_t tweak_keys[60];  ///< of the cipher, in either direction
};

}  // namespace warpaes::cuda
