// What kernels for batches are told: groups of messages in memory of the device (backend/group.hpp), sorted and
// numbered by the host. A kernel finds the message that a thread works on by binary search over the numbers.
#pragma once

#include <cstdint>

#include "aes/ghash.hpp"
#include "aes/types.hpp"
#include "cuda/kernels/key_slot.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// A MessageGroup whose pointers all lead to memory of the device.
struct alignas(16) BatchGroup {
    const std::uint8_t* input;
    std::uint8_t* output;
    const std::uint8_t* iv;
    const std::uint8_t* aad;
    std::uint8_t* tag;
    const uint4* keys;     ///< slot of the first message's key
    std::uint8_t* failed;  ///< a byte a message: 1 if its tag was wrong
    std::uint64_t input_stride, output_stride, iv_stride, aad_stride, tag_stride;
    std::uint64_t key_stride;  ///< in blocks: 0 or key_slot_blocks
    /// Keys of single messages as they came, from which the slots are made; or null.
    const std::uint8_t* raw_keys;
    std::uint64_t raw_key_stride;
    std::uint64_t count;
    std::uint64_t length;
    std::uint64_t aad_length;
    std::uint64_t first_message;  ///< messages of the launch's groups before it
    std::uint64_t first_unit;     ///< pieces of work of the launch's groups before it, as the kernel cuts messages
    std::uint32_t iv_length;
    std::uint32_t tag_length;
    std::uint32_t alignment;  ///< 16, 4 or 1: what inputs, outputs and their strides are multiples of
    std::uint32_t lanes;      ///< log2 of the threads that share a message, where a kernel wants it
};

/// One launch: groups of one mode, direction and key length.
struct BatchParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint32_t one_key;   ///< all messages have the key whose round keys are `round_keys`, constant-bank operands
    std::uint64_t messages;  ///< of all groups
    std::uint64_t units;     ///< of all groups
    unsigned long long* ticket;  ///< zero at the start: the next piece of work, for kernels that hand it out
    std::uint32_t round_keys[60];
};

/// Blocks (batch_blocks.cuh).
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
    std::uint32_t unit_step;      ///< from number to number
    std::uint64_t blocks;         ///< whole blocks of a message, of all its data units
};

struct BatchXtsParams {
    BatchParams batch;  ///< units are whole blocks
    const XtsPart* parts;
    uint4* tweaks;  ///< of every data unit: number of the launch, encrypted
    std::uint64_t tweak_count;
    std::uint32_t tweak_keys[60];  ///< with BatchParams::one_key
};

/// Counters (batch_ctr.cuh).
struct CounterParams {
    static constexpr std::uint32_t window = 256;  ///< blocks
    static constexpr int width = 2;               ///< groups of 32 blocks in each of the shares of a window,
    static constexpr std::uint32_t shares = window / (32 * width);  ///< which as many tasks have

    BatchParams batch;
    std::uint32_t gcm;  ///< 32 bits count, from J0 on; else 128, from the IV on
    /// What a warp takes at a time: steps of 32 threads, or of a long message windows.
    std::uint32_t at_once;
    uint4* pads;  ///< GCM: E(J0) of every message of the launch, or null

    /// Tasks of a long message.
    static __host__ __device__ std::uint64_t tasks_of(std::uint64_t bytes, std::uint32_t at_once) {
        const std::uint64_t windows = (bytes / 16 + (bytes % 16 != 0) + window - 1) / window;
        return shares * ((windows + at_once - 1) / at_once);
    }
};

/// CFB8 and CFB1 decryption (batch_segments.cuh).
struct SegmentParams {
    BatchParams batch;  ///< units are bytes
    std::uint8_t* ciphertext;
    std::uint32_t bits;  ///< lengths count bits
};

/// Serial modes (batch_serial.cuh).
struct SerialParams {
    BatchParams batch;
    std::uint32_t warps;     ///< of a thread block that take messages; the others help to fill the tables
    std::uint32_t staged;    ///< whether there is shared memory for that behind the tables
    std::uint32_t decrypts;  ///< CCM, CMAC
};

/// Keys (batch_keys.cuh): either the groups of a bucket, of which those with raw keys get slots, or keys at equal
/// distances and where their slots are, which other batches may read, in any mode.
struct KeyParams {
    BatchParams batch;    ///< its groups, or null
    std::uint64_t count;  ///< messages of the groups, or keys

    const std::uint8_t* raw;
    std::uint64_t raw_stride;
    uint4* const* targets;

    std::uint32_t inverse;   ///< round keys of the equivalent inverse cipher
    std::uint32_t hash_key;  ///< of a bucket's slots: E(K, 0) too, which the others always have beside forward keys
};

/// GHASH and tags (batch_gcm.cuh).
struct GcmBatchParams {
    static constexpr std::uint64_t piece_blocks = 4096;  ///< of GHASH of a long message

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

/// GHASH of long messages under keys of their own (ghash_keys.cuh): every text is `rows` rows of `row_blocks` blocks,
/// zeros in front making up for what is missing.
struct GhashKeysParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint64_t first, end;  ///< numbers of messages
    std::uint32_t rows, row_blocks;
    FieldElement* powers;  ///< of each message from `first` on, GhashKeys::powers_of
    uint4* digests;        ///< of each message from `first` on, one of each row
    uint4* sums;           ///< of message `number`: what its text gives
    std::uint32_t decrypts;
};

/// Of decrypted messages, whether they are authentic: from bytes to statuses.
struct StatusParams {
    const std::uint8_t* failed;
    std::int32_t* statuses;
    std::uint64_t count;
    std::int32_t bad;
};

}  // namespace warpaes::cuda
