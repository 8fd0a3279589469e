// What kernels for single messages are told: passed by value, so that the round keys are constant-bank operands and no
// copy of the key is left in device memory that we allocate.
#pragma once

#include <cstdint>

#include "aes/numbers.hpp"
#include "aes/xts.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

/// 16, 4 or 1: what every address is a multiple of whose bits are among `bits`.
constexpr std::uint32_t alignment_of(std::uint64_t bits) {
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}

__host__ __device__ __forceinline__ std::uint32_t alignment_of(const void* a, const void* b) {
    return alignment_of(
        static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)));
}

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

/// A short message (short.cuh).
struct ShortParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint32_t bytes;
    std::uint32_t share;      ///< blocks of a thread block
    std::uint32_t alignment;  ///< 16, 4 or 1: what both pointers are multiples of
    Notice notice;
    uint4 counter;  ///< CTR: the first block
    std::uint32_t round_keys[60];
};

/// And of XTS, in whole blocks.
struct ShortXtsParams : ShortParams {
    std::uint32_t unit_blocks, pieces_per_unit;
    uint4 tweaks[ShortXts::most_pieces];  ///< of the first block of each piece
};

/// Of a thread block of the kernel that makes numbers.
inline constexpr int numbers_threads = 1024;

struct NumbersParams {
    std::uint8_t* output;
    std::uint64_t length;  ///< bytes
    uint4 counter;         ///< a block in memory order
    NumberRange range;
    Number kind;
    std::uint32_t alignment;  ///< 16, 4 or 1: what the output is a multiple of
    std::uint32_t round_keys[60];
};

/// Of a thread block of the XTS kernel.
inline constexpr int xts_threads = 1024;

struct XtsParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    Tweak first_number;
    std::uint64_t units;
    std::uint64_t unit_bytes;
    std::uint64_t unit_step;  ///< from number to number
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
