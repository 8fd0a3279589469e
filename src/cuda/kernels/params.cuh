// Parameters of the kernels for single messages. They are passed by value, so that the round keys are constant-bank
// operands and no copy of the key remains in device memory that this library allocates.
#pragma once

#include <cstdint>

#include "aes/numbers.hpp"
#include "aes/xts.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {

/// Returns the largest of 16, 4 and 1 that divides `bits`. If `bits` is the OR of several addresses, the result divides
/// all of them.
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
    std::uint64_t length;  ///< as in Run: in bytes, or for CFB1 in bits
    uint4 chain;           ///< as in Run, a block in memory order
    /// For in-place decryption that chains on ciphertext: the ciphertext block before each warp's stretch, saved
    /// beforehand by save_boundaries. Otherwise null.
    const uint4* boundaries;
    std::uint32_t alignment;  ///< alignment of both pointers: 16, 4 or 1
    std::uint32_t round_keys[60];
};

/// A short message (short.cu).
struct ShortParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint32_t bytes;
    std::uint32_t share;      ///< blocks per thread block
    std::uint32_t alignment;  ///< alignment of both pointers: 16, 4 or 1
    Notice notice;
    uint4 counter;  ///< CTR: the counter of the first block
    std::uint32_t round_keys[60];
};

/// A short XTS message of whole blocks.
struct ShortXtsParams : ShortParams {
    std::uint32_t unit_blocks, pieces_per_unit;
    uint4 tweaks[ShortXts::most_pieces];  ///< tweak of the first block of each piece
};

/// Rows of `bytes` bytes to wipe, each in `parts` parts (wipe.cuh).
struct WipeParams {
    std::uint8_t* memory;
    std::uint64_t stride, bytes, rows, parts;
    const std::uint8_t* marks;  ///< one byte per row, 0 for a row to keep; null: all rows are wiped
    std::uint32_t at_once;      ///< parts that a warp processes at a time
};

/// A message to wipe if its tag is wrong.
struct WipeIfWrongParams {
    std::uint8_t* output;
    std::uint64_t bytes, parts;
    /// The shares whose sum is the tag, each consisting of HostShares::words_each words; without shares, the tag is
    /// wrong.
    unsigned* shares;
    unsigned share_count;
    TagCheck check;  ///< `status` is null unless the message is on a caller's stream
    Notice notice;   ///< without `check.status`, the host is notified only if the message was wiped
};

struct NumbersParams {
    std::uint8_t* output;
    std::uint64_t length;  ///< bytes
    uint4 counter;         ///< a block in memory order
    NumberRange range;
    Number kind;
    std::uint32_t alignment;  ///< alignment of the output pointer: 16, 4 or 1
    std::uint32_t round_keys[60];
};

struct XtsParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    Tweak first_number;
    std::uint64_t units;
    std::uint64_t unit_bytes;
    std::uint64_t unit_step;  ///< difference between the numbers of consecutive data units
    /// Number of pieces per thread block; the first `blocks_with_more` thread blocks have one more.
    std::uint64_t pieces_per_block;
    std::uint32_t blocks_with_more;
    std::uint32_t pieces_per_unit;
    /// Blocks per piece; a unit's last piece may be shorter. The number is a multiple of 32 if a unit has several
    /// pieces.
    std::uint32_t piece_blocks;
    std::uint32_t width;  ///< number of lanes that one unit occupies
    /// Number of whole blocks of a data unit, and number of bytes after them, which the thread of the last whole block
    /// processes. The message's last unit may be shorter.
    std::uint32_t unit_blocks, unit_rest;
    std::uint32_t last_unit_blocks, last_unit_rest;
    std::uint32_t alignment;  ///< alignment of every data unit's address: 16, 4 or 1
    std::uint32_t round_keys[60];
    std::uint32_t tweak_keys[60];  ///< round keys of the cipher, in both directions
};

}  // namespace warpaes::cuda
