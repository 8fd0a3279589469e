// Parameters of the kernels for a GCM run. They are passed by value, so that no copy of the key or the hash key remains
// in allocated device memory. E(J0) and digests, however, are passed from kernel to kernel in device memory: the kernel
// that reads them overwrites them.
#pragma once

#include "aes/ghash.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

/// All segments of a run's input, or of its output.
struct Segments {
    const std::uint8_t* data;
    std::uint64_t stride;
    std::uint64_t count;
    std::uint64_t bytes;       ///< length of every segment except the last
    std::uint64_t last_bytes;  ///< length of the last segment
    std::uint32_t alignment;   ///< 16, 4 or 1: the address of every segment is a multiple of this
    bool reversed;             ///< whether GHASH reverses the bytes of each block

    [[nodiscard]] __host__ __device__ std::uint64_t bytes_of(std::uint64_t segment) const {
        return segment + 1 == count ? last_bytes : bytes;
    }
};

/// How the GHASH sum of a segment's whole blocks is converted to the result: the partial block is added and, for a tag,
/// the associated data and lengths.
struct Finish {
    FieldElement h;
    bool tag;
    FieldElement addend, last_addend;  ///< added to the digest before the last multiplication by H
    uint4* pads;                       ///< E(J0) of every segment; null: added by another kernel or not at all
    std::uint8_t* results;             ///< 16 bytes for each segment
    std::uint32_t alignment;           ///< stride of `results`
};

/// Level 0 of GHASH. Every segment consists of `rows` rows of `row_blocks` blocks. Zero blocks before the segment
/// complete its first row; they do not change the sum. A row's digest is the sum of that row only, as if no data
/// followed it.
struct RowParams {
    Segments text;
    std::uint64_t rows;        ///< rows per segment
    std::uint64_t row_blocks;  ///< a multiple of the number of blocks that the kernel processes at a time
    uint4* digests;            ///< one per row of each segment; null: a segment is one row, and this kernel finishes it
    Finish finish;
    FieldElement powers[HashKey::count];  ///< H^1 …
};

/// The higher levels: `per_segment` digests of each segment are combined into `outputs` digests. Each output combines
/// up to lanes * steps digests, again with leading zeros. If `outputs` is one, the kernel finishes the segment.
struct CombineParams {
    Segments text;
    uint4* digests;
    std::uint64_t per_segment;
    uint4* combined;
    std::uint64_t outputs;
    std::uint32_t log_lanes;  ///< log2 of the number of lanes that share an output
    std::uint32_t steps;
    FieldElement squares[6];  ///< powers of H that account for 1, 2, 4 … 32 digests of this level
    Finish finish;
};

/// CTR with a 32-bit counter (SP 800-38D, 6.5) for many segments, including E(J0).
struct GcmCtrParams {
    Segments input;  ///< `alignment` also applies to the output
    std::uint8_t* output;
    std::uint64_t output_stride;
    const uint4* j0s;  ///< J0 of every segment; null: there is one segment, with `j0`
    uint4 j0;
    std::uint32_t first_block;
    std::uint32_t window_count;  ///< windows of 256 counters in a task
    std::uint32_t parts;         ///< number of parts into which the windows of a segment are divided
    uint4* pads;                 ///< receives E(J0); null: E(J0) is not needed
    std::uint8_t* tags;          ///< if not null, receives E(J0) plus the block in `pads`
    std::uint32_t tags_alignment;
    std::uint32_t round_keys[60];
};

/// A launch that processes a message, or a stretch of a message, completely.
struct GcmMessageParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t bytes;
    std::uint32_t alignment;  ///< alignment of input and output: 16, 4 or 1
    bool encrypts;
    bool tag;                   ///< whether the result is the tag; otherwise it is the digest
    std::uint32_t first_block;  ///< as in GcmRun
    uint4 j0;
    FieldElement addend;   ///< the tag's term for the associated data and lengths
    HostShares shares;     ///< shares of the result, for a host that polls; if there are no shares:
    GcmSum* sum;           ///< where the thread blocks add their shares, if the grid has more than one thread block
    std::uint8_t* result;  ///< receives 16 bytes
    std::uint32_t result_alignment;
    Notice release;  ///< given when `sum` is no longer used
    /// Weights of the thread blocks, counted from the last thread block. A grid of up to 2 * radix thread blocks has
    /// one weight for each. In a larger grid, the first half accounts for i thread blocks, and the second half for
    /// radix * i thread blocks and for the data after the last thread block.
    FieldElement block_weights[2 * GcmMessage::radix];
    std::uint32_t round_keys[60];
};

/// A short message (gcm_short.cu).
struct GcmShortParams : GcmMessageParams {
    /// With `status`: the last thread block checks the tag instead of storing it, and wipes the message if the tag is
    /// wrong.
    TagCheck check;
    std::uint32_t share;              ///< blocks per thread block; the first thread block processes the remainder
    FieldElement powers[warp_lanes];  ///< account for i blocks and for the data after the text
    FieldElement group_weights[GcmShort::most_groups];  ///< account for i groups of `warp_lanes` blocks
};

/// A medium or long message (gcm_medium.cu, gcm_long.cu).
struct GcmPartsParams : GcmMessageParams {
    std::uint32_t share;       ///< blocks or windows per thread block; the first thread block processes the remainder
    std::uint32_t row_blocks;  ///< blocks of a row (gcm_medium.cu only)
    FieldElement powers[HashKey::count];  ///< contents of the slots; in each slot, the factor of the last block comes
                                          ///< first
    /// Account for i rows of a warp (in gcm_medium.cu, also for the data after the text), and for the rows of i warps.
    FieldElement row_weights[8], warp_weights[GcmMessage::warps];
    FieldElement tail_weight;  ///< weight of the partial block, which accounts for all data after the last whole block
};

}  // namespace warpaes::cuda
