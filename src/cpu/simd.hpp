// The entry points of the files that are compiled for one instruction set each, and the plain struct they take.
//
// Those files see no inline function that another file could also compile: the linker keeps one copy of such a
// function, and if it kept the one with AVX-512 instructions, every other CPU would fail on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/short.hpp"
#include "base/stack_depth.hpp"

namespace warpaes::cpu {

/// A Run in a direction that is parallel (aes/types.hpp).
struct SimdRun {
    Mode mode;
    Direction direction;
    int rounds;
    const std::uint8_t*
        keys;  ///< round keys, 16 bytes each; of the equivalent inverse cipher if that is the one to run
    const std::uint8_t* input;
    std::uint8_t* output;
    std::size_t length;
    const std::uint8_t* chain;
    const std::uint8_t* tweak_keys = nullptr;  ///< XTS: round keys of the cipher
    DataUnits data_units{};                    ///< XTS
    bool beyond_caches = false;
};

/// A GcmRun.
struct SimdGcm {
    bool encrypt;
    int rounds;
    const std::uint8_t* keys;
    const std::uint8_t* powers;       ///< HashKey::descending
    const std::uint8_t* first_round;  ///< FirstRound::columns; null: counters are secrets
    const std::uint8_t* input;
    std::uint8_t* output;  ///< null: hashed only
    std::size_t count;
    std::size_t segment_bytes;
    std::size_t last_bytes;
    std::size_t input_stride;
    std::size_t output_stride;
    const std::uint8_t* j0;  ///< `count` blocks
    std::uint32_t first_block;
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

/// CTR: from here on a table of two rounds pays for its making (about 70 ns with 512-bit registers) and the overwriting
/// of the stack. Measured on a Xeon with AVX-512 and AMX, 2 cores, g++ 12: even at 10 to 15 KiB for all three vector
/// widths and for keys of 128 and 256 bits.
inline constexpr std::size_t cached_counter_bytes = 16384;

/// The same where CTR has the key's table for the first round. Measured on a Zen 5, as what follows is.
inline constexpr std::size_t cached_counter_bytes_with_table = 32768;

/// CTR and GCM: from here on the table for the first round pays for finding its beginning.
inline constexpr std::size_t first_round_ctr_bytes = 1024, first_round_bytes = 512;

/// From HashKey::descending to HashKey::folded, in bytes.
inline constexpr std::size_t folded_powers = 1088;

/// What a short message of GCM is computed with.
struct SimdShortGcm {
    const std::uint8_t* powers;       ///< HashKey::descending
    const std::uint8_t* first_round;  ///< FirstRound::columns; null: do without
};

/// Serial modes: what goes into the cipher with the chaining value, and what comes out.
enum class StreamKind {
    cbc,     ///< encryption
    cfb128,  ///< encryption
    ofb,
    mac  ///< CBC-MAC: CBC without output
};

/// Blocks of many messages, the same number of each. Streams lie in vectors one after the other, a lane each.
struct SimdStreams {
    static constexpr std::size_t vectors = 8;  ///< at most
    static constexpr std::size_t most = 4 * vectors;

    StreamKind kind;
    int rounds;
    std::size_t vectors_used;  ///< a power of two
    std::uint8_t* chains;      ///< chaining values, a block a stream; aligned to 64 bytes, as the keys are
    const std::uint8_t* keys;  ///< [round][vector of 8][lane of the vector], 16 bytes each
    const std::uint8_t* const* inputs;
    std::uint8_t* const* outputs;  ///< equal to the inputs or disjoint; not for `mac`
    std::size_t steps;             ///< blocks
};

/// Keys to expand.
struct SimdKeys {
    static constexpr std::size_t bytes_each =
        240;  ///< of round keys, of which fewer are used if there are fewer rounds

    const std::uint8_t* keys;
    std::size_t stride;
    std::size_t key_bytes;
    std::size_t count;
    std::uint8_t* round_keys;
};

/// Powers of H, the encrypted zero block, of several keys.
struct SimdPowers {
    const std::uint8_t* round_keys;  ///< SimdKeys::bytes_each apart
    int rounds;
    std::size_t count;
    std::size_t powers;  ///< of each key: 1, 2, 4, 8, 16 or 32
    std::uint8_t* out;   ///< H^powers … H^1 as in HashKey::descending; `stride` bytes apart
    std::size_t stride;
};

/// Messages of AES-GCM of one length, each with a key of its own or all with one.
struct SimdGcmMessages {
    static constexpr std::size_t most_powers = 32;  ///< that any instruction set has use for

    bool encrypt;
    int rounds;
    std::size_t count;
    std::size_t length;
    const std::uint8_t* keys;
    std::size_t key_stride;  ///< 0: one key
    const std::uint8_t* powers;
    std::size_t power_stride;
    std::size_t power_count;  ///< as many as a vector step takes, or as the longest part of a message has blocks
    const std::uint8_t* input;
    std::uint8_t* output;
    std::size_t input_stride, output_stride;
    const std::uint8_t* iv;
    std::size_t iv_stride, iv_length;
    const std::uint8_t* aad;
    std::size_t aad_stride, aad_length;
    std::uint8_t* tags;  ///< 16 bytes each
};

/// What an instruction set has for batches.
struct SimdBatchKernels {
    std::size_t lanes;  ///< blocks a vector
    void (*run)(const SimdRun&);
    void (*step_streams)(const SimdStreams&);
    void (*expand_keys)(const SimdKeys&);
    /// From round keys of the cipher to those of the equivalent inverse cipher, apart.
    void (*invert_keys)(const std::uint8_t* encrypt, int rounds, std::uint8_t* decrypt);
    std::size_t gcm_step_blocks;  ///< the most powers of H that run_gcm_messages has use for
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

/// FirstRound::columns of the message's key if they are worth their making, else null.
const std::uint8_t* first_round_if_worth(const ShortMessage& message);

/// Single short messages, by the rounds: 10, 12, 14.
struct SimdShortCtrKernels {
    ShortFunction functions[3];
};
struct SimdShortGcmKernels {
    /// Writes all of the tag.
    using Function = void (*)(const ShortMessage&, const SimdShortGcm&, std::uint8_t* tag);
    Function encrypt[3], decrypt[3];
};

extern const SimdShortCtrKernels short_ctr_aesni, short_ctr_vaes256, short_ctr_vaes512, short_ctr_armv8;
extern const SimdShortGcmKernels short_gcm_aesni, short_gcm_vaes256, short_gcm_vaes512, short_gcm_vaes512_folding,
    short_gcm_armv8;

}  // namespace warpaes::cpu
