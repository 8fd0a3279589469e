// What the kernels of a GCM run are told: by value, so that of key and hash key no copy is left in device memory that
// we allocate. E(J0) and digests on their way from kernel to kernel do lie there: who reads them overwrites them.
#pragma once

#include "aes/ghash.hpp"
#include "cuda/kernels/arrival.hpp"
#include "cuda/kernels/simt.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

/// The bytes of all segments, as one side of a run has them.
struct Segments {
    const std::uint8_t* data;
    std::uint64_t stride;
    std::uint64_t count;
    std::uint64_t bytes;       ///< of every segment but the last
    std::uint64_t last_bytes;  ///< of the last
    std::uint32_t alignment;   ///< 16, 4 or 1: what the address of every segment is a multiple of
    bool reversed;             ///< GHASH takes the bytes of each block from the last to the first

    [[nodiscard]] __host__ __device__ std::uint64_t bytes_of(std::uint64_t segment) const {
        return segment + 1 == count ? last_bytes : bytes;
    }
};

/// What becomes of a segment's sum over its whole blocks: the tail is added, for a tag also associated data and
/// lengths.
struct Finish {
    FieldElement h;
    bool tag;
    FieldElement addend, last_addend;  ///< what precedes the last multiplication by H, beside the digest
    uint4* pads;                       ///< E(J0) of every segment, or null: whoever has it adds it
    std::uint8_t* results;             ///< 16 bytes for each segment
    std::uint32_t alignment;           ///< of `results`
};

/// Level 0 of GHASH: every segment is `rows` rows of `row_blocks` blocks, zeros in front making up for what is missing,
/// which change no sum. A row's digest is its own sum, as if nothing came after it.
struct RowParams {
    Segments text;
    std::uint64_t rows;        ///< of a segment
    std::uint64_t row_blocks;  ///< a multiple of what the kernel takes at a time
    uint4* digests;            ///< one for each row of each segment; null if a segment is one row: it is finished then
    Finish finish;
    FieldElement powers[HashKey::count];  ///< H^1 …
};

/// The levels above: `per_segment` digests become `outputs`, of up to lanes * steps each, zeros in front once more.
/// With one output the segment is finished.
struct CombineParams {
    Segments text;
    uint4* digests;
    std::uint64_t per_segment;
    uint4* combined;
    std::uint64_t outputs;
    std::uint32_t log_lanes;  ///< lanes that work on an output, a power of two
    std::uint32_t steps;
    FieldElement squares[6];  ///< what a digest of this level is multiplied by to pass over 1, 2, 4 … 32 others
    Finish finish;
};

/// CTR with a 32-bit counter for many segments (SP 800-38D, 6.5), and E(J0).
struct GcmCtrParams {
    Segments input;  ///< its alignment holds for the output too
    std::uint8_t* output;
    std::uint64_t output_stride;
    const uint4* j0s;  ///< null: `j0`, of the only segment
    uint4 j0;
    std::uint32_t first_block;
    std::uint32_t window_count;  ///< windows of 256 counters in a task
    std::uint32_t parts;         ///< tasks that share the windows of a segment
    uint4* pads;                 ///< E(J0) goes here, or null
    std::uint8_t* tags;          ///< or here, to what is in `pads` already
    std::uint32_t tags_alignment;
    std::uint32_t round_keys[60];
};

/// One launch for a whole message, or for a stretch of one.
struct GcmMessageParams {
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t bytes;
    std::uint32_t alignment;  ///< of input and output
    bool encrypts;
    bool tag;                   ///< the result is the tag, otherwise the digest
    std::uint32_t first_block;  ///< as in GcmRun
    uint4 j0;
    FieldElement addend;   ///< the term of associated data and lengths in a tag
    HostShares shares;     ///< of the result, for a host that polls. Without them:
    GcmSum* sum;           ///< where thread blocks add, if there is more than one
    std::uint8_t* result;  ///< 16 bytes
    std::uint32_t result_alignment;
    /// Powers of H that account for i thread blocks, and for `radix` * i of them and what follows the last one.
    FieldElement inner_weights[GcmMessage::radix], outer_weights[GcmMessage::radix];
    std::uint32_t round_keys[60];
};

/// A short message (gcm_short.cuh).
struct GcmShortParams : GcmMessageParams {
    std::uint32_t share;                                ///< blocks of a thread block; the first one has what is left
    FieldElement powers[warp_lanes];                    ///< account for i blocks and for what follows the last one
    FieldElement group_weights[GcmShort::most_groups];  ///< account for i groups of `warp_lanes` blocks
};

/// A longer one (gcm_medium.cuh, gcm_long.cuh).
struct GcmPartsParams : GcmMessageParams {
    std::uint32_t share;                  ///< of each thread block, blocks or windows; the first one has what is left
    std::uint32_t row_blocks;             ///< gcm_medium.cuh
    FieldElement powers[HashKey::count];  ///< the contents of the slots, the last factor first
    FieldElement row_weights[8], warp_weights[GcmMessage::warps];  ///< account for i rows, for i warps' rows
    FieldElement tail_weight;                                      ///< of the partial block
};

}  // namespace warpaes::cuda
