// Messages that arrive in updates of any size. The kernels continue from a state of a few blocks and prepare it for the
// next update. The kernels use neither a lane nor a plan, and neither allocate nor wipe memory. They replace
// libcrypto's own kernels for callers that cannot afford more overhead (provider/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Number of powers of H in GcmUpdate::powers, which are stored like HashKey::descending and are also followed by
/// zeros. The last `few_powers` powers are sufficient for a few blocks and take less time to compute than all powers.
inline constexpr std::size_t update_powers = 32, few_powers = 8;
inline constexpr std::size_t update_powers_bytes = 16 * (update_powers + 3);

/// From this length onwards, kernels may create a table on the stack that depends on the key. The caller must wipe it.
inline constexpr std::size_t update_table_bytes = cached_counter_bytes;

/// Whole blocks of a GCM message's text.
struct GcmUpdate {
    bool encrypt;
    bool public_counters;  ///< false: no address may depend on the counters, because J0 is a hash of the IV
    int rounds;
    const std::uint8_t* keys;    ///< round keys of the cipher
    const std::uint8_t* powers;  ///< aligned to 64 bytes
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint from it
    std::size_t blocks;
    std::uint8_t* counter;  ///< the next counter block; updated
    std::uint8_t* digest;   ///< the GHASH of the preceding data; updated
};

/// The kernels for parallel modes that use one instruction set.
struct UpdateKernels {
    std::string_view name;  ///< name of the backend
    std::string_view description;
    /// Processes whole blocks or, for CFB8, CFB1 and XTS, any length that SimdRun allows. The chaining value is not
    /// updated.
    void (*run)(const SimdRun&);
    void (*gcm)(const GcmUpdate&);
    /// Adds whole blocks to the digest.
    void (*hash)(const std::uint8_t* powers, std::uint8_t* digest, const std::uint8_t* data, std::size_t blocks);
    /// Computes all powers from the last few powers.
    void (*extend_powers)(std::uint8_t* powers);
};

/// Returns the kernels of a backend, or of the fastest backend if `backend` is empty. If this CPU cannot run any,
/// returns null and sets `why` to the reason.
const UpdateKernels* update_kernels(std::string_view backend, std::string& why);

extern const UpdateKernels update_kernels_aesni, update_kernels_vaes256, update_kernels_vaes512, update_kernels_armv8;

// Kernels for a single message, with AES-NI or its equivalent: serial modes, and a few blocks of other modes, which
// finish before a wide kernel would have started. `keys` are round keys of the cipher, and `inverse` are round keys of
// the equivalent inverse cipher. Chaining values are updated; input and output are equal or disjoint. Each function is
// compiled for one number of rounds.
namespace serial {

inline constexpr std::size_t few_blocks = 4;

struct Kernels {
    /// expand computes the round keys of the cipher, and expand_inverse those of the equivalent inverse cipher.
    void (*expand)(const std::uint8_t* key, std::uint8_t* keys);
    void (*expand_inverse)(const std::uint8_t* key, std::uint8_t* keys);
    /// Computes the last few powers of GcmUpdate::powers.
    void (*make_few_powers)(const std::uint8_t* keys, std::uint8_t* powers);
    /// Like UpdateKernels::gcm and UpdateKernels::hash, but for a few blocks, with only the last few powers.
    void (*gcm)(const GcmUpdate&);
    void (*hash)(const std::uint8_t* powers, std::uint8_t* digest, const std::uint8_t* data, std::size_t blocks);
    /// ecb, ecb_inverse and ctr process 1 to `few_blocks` blocks.
    void (*ecb)(const std::uint8_t* keys, const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*ecb_inverse)(const std::uint8_t* keys, const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*ctr)(const std::uint8_t* keys, std::uint8_t* counter, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    /// xts and xts_inverse process a data unit of 1 to `few_blocks` blocks. `keys` are round keys of the cipher, or for
    /// xts_inverse round keys of the equivalent inverse cipher.
    void (*xts)(const std::uint8_t* keys, const std::uint8_t* tweak_keys, const std::uint8_t* tweak,
                const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*xts_inverse)(const std::uint8_t* keys, const std::uint8_t* tweak_keys, const std::uint8_t* tweak,
                        const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    /// CBC decryption of 1 to `few_blocks` blocks, with the round keys of the equivalent inverse cipher.
    void (*cbc_inverse)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                        std::size_t blocks);
    /// cbc, cfb, ofb and mac process any number of blocks.
    void (*cbc)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*cfb)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*ofb)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*mac)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::size_t blocks);
    /// The text of a CCM message: CTR with a 64-bit counter, and the MAC of the plaintext.
    void (*ccm_encrypt)(const std::uint8_t* keys, std::uint8_t* counter, std::uint8_t* chain, const std::uint8_t* input,
                        std::uint8_t* output, std::size_t blocks);
    void (*ccm_decrypt)(const std::uint8_t* keys, std::uint8_t* counter, std::uint8_t* chain, const std::uint8_t* input,
                        std::uint8_t* output, std::size_t blocks);
    /// Processes whole bytes.
    void (*cfb8)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bytes);
    /// Processes bits, in either direction; the remaining bits of the last output byte are preserved.
    void (*cfb1)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bits, bool encrypt);
};

/// `rounds` is 10, 12 or 14.
const Kernels& kernels(int rounds);

}  // namespace serial

}  // namespace warpaes::cpu
