// The entry points of the files that are compiled for one instruction set each, and the plain structs that are their
// arguments.
//
// A file that is compiled for one instruction set must not use an inline function that any other file also compiles.
// The linker keeps only one copy of such a function; if that copy contained AVX-512 instructions, it would fail on
// every CPU without AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/short.hpp"
#include "base/stack_depth.hpp"

namespace warpaes::cpu {

/// A Run in a parallel direction (aes/types.hpp).
struct SimdRun {
    Mode mode;
    Direction direction;
    int rounds;
    const std::uint8_t* keys;  ///< round keys, 16 bytes each; of the equivalent inverse cipher if the mode uses it
    const std::uint8_t* input;
    std::uint8_t* output;
    std::size_t length;  ///< kernel_length()
    const std::uint8_t* chain;
    const std::uint8_t* tweak_keys = nullptr;  ///< XTS: round keys for encrypting the tweaks
    DataUnits data_units{};                    ///< XTS
    bool beyond_caches = false;
};

/// A GcmRun.
struct SimdGcm {
    bool encrypt;
    int rounds;
    const std::uint8_t* keys;
    const std::uint8_t* powers;       ///< HashKey::descending
    const std::uint8_t* first_round;  ///< FirstRound::columns; null: the counters are secret
    const std::uint8_t* input;
    std::uint8_t* output;  ///< null: the input is only hashed
    std::size_t count;
    std::size_t segment_bytes;
    std::size_t last_bytes;
    std::size_t input_stride;
    std::size_t output_stride;
    const std::uint8_t* j0;  ///< `count` blocks
    std::uint32_t first_block;
    bool beyond_caches;
    bool tags;
    const std::uint8_t* aad_digest;  ///< a block
    std::uint64_t aad_bytes;
    std::uint8_t* results;  ///< `count` blocks
};

/// A GcmSivRun.
struct SimdGcmSiv {
    int rounds;
    const std::uint8_t* keys;
    const std::uint8_t* powers;  ///< HashKey::descending; null without a digest
    const std::uint8_t* counter;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::size_t bytes;
    std::uint8_t* digest;
};

/// CTR: from this length onwards, a table for two rounds is worthwhile (about 70 ns with 512-bit registers, plus
/// overwriting the stack). Measured on a Xeon with AVX-512 and AMX, 2 cores, g++ 12: break-even at 10 to 15 KiB for all
/// three vector widths and for keys of 128 and 256 bits.
inline constexpr std::size_t cached_counter_bytes = 16384;

/// The corresponding length if CTR can use the key's table for the first round. Measured on a Zen 5, like the following
/// limits.
inline constexpr std::size_t cached_counter_bytes_with_table = 32768;

/// CTR and GCM: from this length onwards, the key's table for the first round is worth its setup.
inline constexpr std::size_t first_round_ctr_bytes = 1024, first_round_bytes = 512;

/// Offset in bytes from HashKey::descending to HashKey::folded.
inline constexpr std::size_t folded_powers = 1152;

/// Tables for a short GCM message.
struct SimdShortGcm {
    const std::uint8_t* powers;       ///< HashKey::descending
    const std::uint8_t* first_round;  ///< FirstRound::columns; null: no table
};

/// Serial modes: how chaining value, text and output are combined.
enum class StreamKind {
    cbc,     ///< encryption
    cfb128,  ///< encryption
    ofb,
    mac  ///< CBC-MAC: CBC without an output
};

/// Blocks of many messages, the same number from each. Streams occupy the vectors one after another, one per lane.
struct SimdStreams {
    static constexpr std::size_t vectors = 8;         ///< maximum number of vectors of streams
    static constexpr std::size_t most = 4 * vectors;  ///< maximum number of streams

    StreamKind kind;
    int rounds;
    std::size_t vectors_used;  ///< 1, 4 or 8; without `key` at most `keyed_vectors`
    std::uint8_t* chains;      ///< chaining values, one block per stream; like the keys, aligned to 64 bytes
    const std::uint8_t* key;   ///< round keys of all streams; or null, and each stream has its own keys
    const std::uint8_t* keys;  ///< [round][vector of `keyed_vectors`][lane of the vector], 16 bytes each
    const std::uint8_t* const* inputs;
    std::uint8_t* const* outputs;  ///< equal to the inputs or disjoint from them; not used for `mac`
    std::size_t steps;             ///< number of blocks
};

/// Keys to expand.
struct SimdKeys {
    static constexpr std::size_t bytes_each = 240;  ///< maximum size of the round keys; fewer rounds use fewer bytes

    const std::uint8_t* keys;
    std::size_t stride;
    std::size_t key_bytes;
    std::size_t count;
    std::uint8_t* round_keys;
};

/// Powers of H, the encrypted zero block, for several keys.
struct SimdPowers {
    const std::uint8_t* round_keys;  ///< SimdKeys::bytes_each apart
    int rounds;
    std::size_t count;
    std::size_t powers;  ///< number of powers per key: 1, 2, 4, 8, 16 or 32
    std::uint8_t* out;   ///< H^powers … H^1 as in HashKey::descending; the powers of consecutive keys are `stride`
                         ///< bytes apart
    std::size_t stride;
};

/// AES-GCM messages of the same length, which share a key or each have their own key.
struct SimdGcmMessages {
    static constexpr std::size_t most_powers = 32;  ///< the maximum that any instruction set uses

    bool encrypt;
    int rounds;
    std::size_t count;
    std::size_t length;
    const std::uint8_t* keys;
    std::size_t key_stride;  ///< 0: one key for all messages
    const std::uint8_t* powers;
    std::size_t power_stride;
    std::size_t power_count;  ///< number of powers per key: as many as a step uses, or as the longest part of a message
                              ///< has blocks
    const std::uint8_t* input;
    std::uint8_t* output;  ///< null: the input is only hashed, like the ciphertext of messages to be decrypted
    std::size_t input_stride, output_stride;
    const std::uint8_t* iv;
    std::size_t iv_stride, iv_length;
    const std::uint8_t* aad;
    std::size_t aad_stride, aad_length;
    bool beyond_caches;
    std::uint8_t* tags;  ///< 16 bytes each
};

/// Messages of the same length in a parallel direction of any mode except XTS and GCM, which share a key or each have
/// their own key.
struct SimdMessages {
    Mode mode;
    Direction direction;
    int rounds;
    std::size_t count;
    std::size_t length;        ///< kernel_length()
    const std::uint8_t* keys;  ///< as in SimdRun
    std::size_t key_stride;    ///< 0: one key for all messages
    const std::uint8_t* input;
    std::uint8_t* output;
    std::size_t input_stride, output_stride;
    const std::uint8_t* iv;
    std::size_t iv_stride;
    const std::uint8_t* first_round;  ///< CTR: FirstRound::columns of the messages' key; or null
    bool beyond_caches;
};

/// The kernels of an instruction set for batches.
struct SimdBatchKernels {
    std::size_t lanes;          ///< blocks per vector
    std::size_t keyed_vectors;  ///< the maximum number of vectors for step_streams if streams have different keys
    void (*run)(const SimdRun&);
    void (*run_messages)(const SimdMessages&);
    void (*step_streams)(const SimdStreams&);
    void (*expand_keys)(const SimdKeys&);
    /// Converts round keys of the cipher to round keys of the equivalent inverse cipher, not in place.
    void (*invert_keys)(const std::uint8_t* encrypt, int rounds, std::uint8_t* decrypt);
    std::size_t gcm_step_blocks;  ///< the maximum number of powers of H that run_gcm_messages uses
    void (*make_powers)(const SimdPowers&);
    void (*run_gcm_messages)(const SimdGcmMessages&);
};

extern const SimdBatchKernels batch_kernels_aesni, batch_kernels_vaes256, batch_kernels_vaes512, batch_kernels_armv8;

void run_aesni(const SimdRun& run);
void run_vaes256(const SimdRun& run);
void run_vaes512(const SimdRun& run);
void run_armv8(const SimdRun& run);
void run_gcm_aesni(const SimdGcm& run);
void run_gcm_vaes256(const SimdGcm& run);
void run_gcm_vaes512(const SimdGcm& run);
void run_gcm_vaes512_folding(const SimdGcm& run);
void run_gcm_armv8(const SimdGcm& run);
void run_gcm_siv_aesni(const SimdGcmSiv& run);
void run_gcm_siv_vaes256(const SimdGcmSiv& run);
void run_gcm_siv_vaes512(const SimdGcmSiv& run);
void run_gcm_siv_vaes512_folding(const SimdGcmSiv& run);
void run_gcm_siv_armv8(const SimdGcmSiv& run);

/// Returns FirstRound::columns of the message's key if the table is worthwhile, otherwise null.
const std::uint8_t* first_round_if_worth(const ShortMessage& message);

/// Kernels for single short messages, for 10, 12 and 14 rounds.
struct SimdShortCtrKernels {
    ShortFunction functions[3];
};
struct SimdShortGcmKernels {
    /// Writes all 16 bytes of the tag.
    using Function = void (*)(const ShortMessage&, const SimdShortGcm&, std::uint8_t* tag);
    Function encrypt[3], decrypt[3];
};

extern const SimdShortCtrKernels short_ctr_aesni, short_ctr_vaes256, short_ctr_vaes512, short_ctr_armv8;
extern const SimdShortGcmKernels short_gcm_aesni, short_gcm_vaes256, short_gcm_vaes512, short_gcm_vaes512_folding,
    short_gcm_armv8;

}  // namespace warpaes::cpu
