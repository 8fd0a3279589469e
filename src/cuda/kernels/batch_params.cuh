// Parameters of the kernels for batches: groups of messages in device memory (backend/group.hpp), sorted and numbered
// by the host. By binary search over these numbers, a kernel finds the message that a thread processes.
#pragma once

#include <cstdint>

#include "aes/ghash.hpp"
#include "aes/types.hpp"
#include "cuda/kernels/key_slot.hpp"
#include "cuda/kernels/simt.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

/// A MessageGroup whose pointers all refer to device memory.
struct alignas(16) BatchGroup {
    const std::uint8_t* input;
    std::uint8_t* output;
    const std::uint8_t* iv;
    const std::uint8_t* aad;
    std::uint8_t* tag;
    const uint4* keys;          ///< slot of the first message's key
    std::uint8_t* failed;       ///< one byte per message: 1 if its tag was wrong, otherwise 0
    std::uint32_t* any_failed;  ///< set to 1 if any message of the batch has failed
    /// Receives the messages' statuses in a batch that no thread waits for; or null.
    std::int32_t* statuses;
    std::uint64_t input_stride, output_stride, iv_stride, aad_stride, tag_stride;
    std::uint64_t key_stride;  ///< in blocks: 0 or key_slot_blocks
    /// Raw per-message keys from which the slots are computed; may be null.
    const std::uint8_t* raw_keys;
    std::uint64_t raw_key_stride;
    std::uint64_t count;
    std::uint64_t length;
    std::uint64_t aad_length;
    std::uint64_t first_message;  ///< number of messages in the launch's earlier groups
    std::uint64_t first_unit;  ///< number of units in the launch's earlier groups; each kernel has its own kind of unit
    std::uint32_t iv_length;
    std::uint32_t tag_length;
    std::uint16_t alignment;   ///< alignment of inputs, outputs and their strides: 16, 4 or 1
    std::uint16_t lanes;       ///< log2 of the number of threads that share a message; only for some kernels
    std::uint32_t key_number;  ///< number in FewKeys
};

/// One launch: groups of one mode, direction and key length.
struct BatchParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint32_t one_key;       ///< nonzero: the key of all messages is `round_keys`, which are constant-bank operands
    std::uint64_t messages;      ///< number of messages in all groups
    std::uint64_t units;         ///< number of units in all groups
    unsigned long long* ticket;  ///< the next unit of work, initially zero; for kernels that assign units dynamically
    std::uint32_t round_keys[60];
};

/// Round keys of a batch with a few keys, as a separate parameter.
struct FewKeys {
    static constexpr unsigned most = 64;
    alignas(16) std::uint32_t words[most][60];
};

/// Blocks (batch_blocks.cu).
struct BlockParams {
    BatchParams batch;  ///< units are blocks, including a partial block
    /// For in-place decryption that chains on ciphertext: the ciphertext block before each warp's stretch, saved
    /// beforehand. Otherwise null.
    uint4* boundaries;
};

/// The additional parameters of an XTS group.
struct XtsPart {
    const uint4* tweak_keys;      ///< slot of the tweak key
    std::uint64_t first_tweak;    ///< number of data units in the launch's earlier groups
    std::uint64_t unit_bytes;     ///< bytes of a data unit; at most the length of the message
    std::uint32_t unit_blocks;    ///< whole blocks of a data unit
    std::uint32_t message_units;  ///< data units of a message
    std::uint32_t unit_step;      ///< difference between the numbers of consecutive data units
    std::uint64_t blocks;         ///< whole blocks of a message, in all its data units
};

struct BatchXtsParams {
    BatchParams batch;  ///< units are whole blocks
    const XtsPart* parts;
    uint4* tweaks;  ///< the encrypted numbers of all data units of the launch
    std::uint64_t tweak_count;
    std::uint32_t tweak_keys[60];  ///< used if all messages have the same second key
};

/// Counters (batch_ctr.cu).
struct CounterParams {
    static constexpr std::uint32_t window = 256;                    ///< blocks
    static constexpr int width = 2;                                 ///< groups of 32 blocks in a share of a window
    static constexpr std::uint32_t shares = window / (32 * width);  ///< shares of a window, each in a separate task

    BatchParams batch;
    std::uint32_t gcm;  ///< nonzero: 32-bit counters that follow J0; 0: 128-bit counters that start at the IV
    /// The amount of work that a warp claims at a time: steps of 32 threads, or windows of a long message.
    std::uint32_t at_once;
    uint4* pads;  ///< GCM: E(J0) of every message of the launch, or null

    /// Returns the number of tasks into which a long message is cut.
    static __host__ __device__ std::uint64_t tasks_of(std::uint64_t bytes, std::uint32_t at_once) {
        const std::uint64_t windows = (bytes / 16 + (bytes % 16 != 0) + window - 1) / window;
        return shares * ((windows + at_once - 1) / at_once);
    }
};

/// CFB8 and CFB1 decryption (batch_segments.cu).
struct SegmentParams {
    BatchParams batch;  ///< units are bytes
    std::uint8_t* ciphertext;
    std::uint32_t bits;  ///< nonzero: lengths count bits
};

/// Serial modes (batch_serial.cu).
struct SerialParams {
    BatchParams batch;
    std::uint32_t warps;  ///< number of warps per thread block that process messages; the other warps only help to fill
                          ///< the tables
    std::uint32_t staged;    ///< nonzero: there are staging buffers in shared memory after the tables
    std::uint32_t decrypts;  ///< CCM, CMAC
};

/// Keys (batch_keys.cu): either the groups of a bucket, whose raw keys get slots; or keys with the addresses of their
/// slots, which other batches may read, in any mode.
struct KeyParams {
    /// Up to this many keys are passed as parameters, so no memory with keys has to be wiped in stream order.
    static constexpr unsigned most_few = 64, stride = 32;

    BatchParams batch;    ///< the bucket's groups, or null
    std::uint64_t count;  ///< number of messages in the groups, or number of keys

    const std::uint8_t* raw;  ///< `count` keys; null: the keys are in `few`
    uint4* const* targets;
    alignas(4) std::uint8_t few[most_few * stride];
    uint4* few_targets[most_few];

    std::uint32_t inverse;   ///< whether to compute round keys of the equivalent inverse cipher
    std::uint32_t hash_key;  ///< whether a bucket's slots also contain E(K, 0); other slots contain it whenever they
                             ///< contain forward keys
};

/// GHASH and tags (batch_gcm.cu).
struct GcmBatchParams {
    static constexpr std::uint64_t piece_blocks = 4096;  ///< blocks of a piece of a long message

    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint64_t first, end;  ///< message numbers
    std::uint64_t pieces;      ///< number of pieces of a message in the longest group
    BatchGroup* rewritten;     ///< copies of the groups, with J0s as their IVs
    uint4* j0s;                ///< J0 of every message whose IV is not 12 bytes long
    uint4* pads;               ///< E(J0) of every message
    uint4* digests;  ///< S of every message (SP 800-38D, 7.1, step 5); for a long message, first the digest of its text
    std::uint32_t decrypts;
};

/// Consecutive messages under the same key, longest first.
struct KeyRun {
    std::uint64_t first = 0, messages = 0;      ///< number of the first message, and count of messages
    std::uint64_t first_unit = 0;               ///< only for gcm_windows.cu: number of units in the earlier runs
    std::uint32_t first_tile = 0;               ///< number of tiles in the earlier runs
    std::uint32_t first_group = 0, groups = 0;  ///< only for passes: number of the first group, and count of groups
    const uint4* key = nullptr;                 ///< slot
};

/// GHASH and tags of messages under one key or a few keys (ghash_messages.cu).
struct GcmRowsParams {
    GcmBatchParams batch;
    std::uint32_t most_edges;  ///< maximum number of a message's blocks that are not whole blocks of text
    std::uint32_t tiles_at_once, tiles;
    const KeyRun* runs;  ///< null: all messages use the key of `powers`
    std::uint32_t run_count;
    const FieldElement* run_powers;       ///< HashKey::count for each run: H^1 …
    FieldElement powers[HashKey::count];  ///< H^1 …
};

/// The rows of messages in gcm_pass.cu.
struct PassRows {
    std::uint32_t log_rows;   ///< log2 of the rows of a message
    std::uint32_t aad_steps;  ///< number of steps for the longest associated data
    std::uint32_t weighted;   ///< nonzero: rows have weights
};

/// GCM of messages under one key in one pass (gcm_pass.cu).
struct GcmPassParams {
    BatchParams batch;  ///< the kernel does not use units
    PassRows rows;
    std::uint32_t tiles;
    FieldElement powers[HashKey::count];   ///< contents of the slots; in each slot the lowest exponent is first
    FieldElement weights[HashKey::count];  ///< H^0, H^-1 …
};

/// GCM of messages under a few keys in one pass (gcm_pass.cu). Run i uses FewKeys::words[i].
struct GcmPassKeysParams {
    BatchParams batch;
    PassRows rows;
    std::uint32_t tiles, tiles_at_once;  ///< of all runs; consecutive tiles of a thread block
    std::uint32_t run_count;
    const KeyRun* runs;
    const FieldElement* factors;  ///< GcmPass::factors for each run
};

/// Powers of H for gcm_windows.cu.
struct GcmWindowWeights {
    FieldElement powers[HashKey::count];          ///< contents of the slots; in each slot the lowest exponent is first
    FieldElement rows[8 * GcmWindows::together];  ///< weights of rows, by warp and row
    /// H^256 to the powers 0, 1 … radix - 1, and the same for radix windows and for radix^2 windows.
    FieldElement windows[GcmWindows::digits][GcmWindows::radix];
    FieldElement after[2][16];  ///< H^0, H^-1 … and H^0, H^-16 …
};

/// A sum of GHASH to which groups of warps add.
struct WindowsSum {
    unsigned long long high, low;
};

/// GCM of long messages under one key in one pass (gcm_windows.cu). There are fewer than 2^32 windows.
struct GcmWindowsParams {
    BatchParams batch;  ///< units are windows
    WindowsSum* sums;   ///< one for each message, initially zero
    uint4* pads;        ///< E(J0) of every message
    std::uint32_t decrypts;
    GcmWindowWeights weights;
};

/// GCM of long messages under a few keys in one pass (gcm_windows.cu). Run i uses FewKeys::words[i].
struct GcmWindowsKeysParams {
    BatchParams batch;
    WindowsSum* sums;
    uint4* pads;
    std::uint32_t decrypts;
    std::uint32_t run_count;
    const KeyRun* runs;
    const GcmWindowWeights* weights;  ///< for each run
};

/// Computes the powers of H for runs: GcmPass::factors or a GcmWindowWeights for each.
struct RunFactorsParams {
    const KeyRun* runs;
    std::uint32_t run_count;
    std::uint32_t count;    ///< powers of a run
    std::uint32_t bits;     ///< of the greatest exponent that is needed
    std::uint32_t windows;  ///< nonzero: for gcm_windows.cu
    PassRows rows;          ///< for gcm_pass.cu
    std::uint32_t after;    ///< for gcm_pass.cu without weights: positions after the lengths
    FieldElement* factors;
    FieldElement inverses[FewKeys::most];  ///< 1 / H for each run
};

/// Wipes the outputs of messages whose `failed` byte is set. Units are the windows of GcmWindows.
struct WipeFailedParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint32_t at_once;  ///< units that a warp processes at a time
    std::uint64_t units;
    const std::uint32_t* any_failed;  ///< if it is 0, there is nothing to wipe
};

/// Powers of H for GcmRowsParams.
struct RunPowersParams {
    const KeyRun* runs;
    std::uint64_t run_count;
    FieldElement* powers;
};

/// Last step of GCM (batch_gcm.cu): computes tags. In decryption, compares them with the given tags and wipes output
/// that is not authentic. Units are parts of messages.
struct GcmSettleParams {
    GcmBatchParams batch;
    std::uint64_t units;
    /// Nonzero: messages are long, and units are the tasks into which counters cut them (CounterParams). 0: a unit is a
    /// message, and its number is the message number.
    std::uint32_t windows;
    std::uint32_t at_once;  ///< units that a warp claims at a time
};

/// GHASH of long messages under their own keys (ghash_keys.cu): every text consists of `rows` rows of `row_blocks`
/// blocks, with leading zeros.
struct GhashKeysParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint64_t first, end;  ///< message numbers
    std::uint32_t rows, row_blocks;
    FieldElement* powers;  ///< GhashKeys::powers_of powers for each message, starting with `first`
    uint4* digests;        ///< one per row for each message, starting with `first`
    uint4* sums;           ///< digests of the texts, indexed by message number
    std::uint32_t decrypts;
};

/// Copies `blocks` blocks from page-locked memory.
struct SideParams {
    uint4* to;
    const uint4* from;
    std::uint64_t blocks;
};

/// Converts the `failed` bytes of a bucket's messages to statuses.
struct StatusParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::int32_t bad;
    std::uint64_t messages;
};

}  // namespace warpaes::cuda
