// Messages that arrive in updates of a few bytes or many: kernels that go on from a state of a few blocks and leave it
// where the next one goes on. No lane, no plan, no allocation, no wiping. They do what libcrypto's own kernels do, and
// are there for callers who cannot afford more around them (provider/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Powers of H that GcmUpdate::powers holds, as in HashKey::descending; zeros follow, as there. The last few of them
/// are enough for few blocks, and there sooner.
inline constexpr std::size_t update_powers = 32, few_powers = 8;
inline constexpr std::size_t update_powers_bytes = 16 * (update_powers + 3);

/// From here on kernels make a table on the stack, of what a key makes of counters: the caller wipes it.
inline constexpr std::size_t update_table_bytes = cached_counter_bytes;

/// Whole blocks of the text of a message of GCM.
struct GcmUpdate {
    bool encrypt;
    bool public_counters;  ///< false: no address may depend on them, as where J0 is a hash of the IV
    int rounds;
    const std::uint8_t* keys;    ///< round keys of the cipher
    const std::uint8_t* powers;  ///< aligned to 64 bytes
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint
    std::size_t blocks;
    std::uint8_t* counter;  ///< the next counter block; goes on
    std::uint8_t* digest;   ///< of what came before; goes on
};

/// What an instruction set has for parallel modes.
struct UpdateKernels {
    std::string_view name;  ///< of the backend
    std::string_view description;
    /// A run of whole blocks, or what SimdRun takes of CFB8, CFB1 and XTS. The chain does not go on by itself.
    void (*run)(const SimdRun&);
    void (*gcm)(const GcmUpdate&);
    /// Adds whole blocks to the digest.
    void (*hash)(const std::uint8_t* powers, std::uint8_t* digest, const std::uint8_t* data, std::size_t blocks);
    /// All powers, from the few.
    void (*extend_powers)(std::uint8_t* powers);
};

/// The kernels of a backend, or with an empty name of the fastest one; null if this CPU has none, and `why` says so.
const UpdateKernels* update_kernels(std::string_view backend, std::string& why);

extern const UpdateKernels update_kernels_aesni, update_kernels_vaes256, update_kernels_vaes512, update_kernels_armv8;

// One message alone, by AES-NI or its like: what is serial, and a few blocks of what is not, which are done before a
// wide kernel has begun. `keys`: round keys of the cipher (`inverse`: of the equivalent inverse cipher). Chains go on;
// input and output are equal or disjoint. Each is compiled for one number of rounds.
namespace serial {

inline constexpr std::size_t few_blocks = 4;

struct Kernels {
    /// Round keys of the cipher, and of the equivalent inverse cipher.
    void (*expand)(const std::uint8_t* key, std::uint8_t* keys);
    void (*expand_inverse)(const std::uint8_t* key, std::uint8_t* keys);
    /// The last few of the powers of GcmUpdate.
    void (*make_few_powers)(const std::uint8_t* keys, std::uint8_t* powers);
    /// UpdateKernels::gcm and hash with the last few powers, for few blocks.
    void (*gcm)(const GcmUpdate&);
    void (*hash)(const std::uint8_t* powers, std::uint8_t* digest, const std::uint8_t* data, std::size_t blocks);
    /// 1 to `few_blocks` blocks.
    void (*ecb)(const std::uint8_t* keys, const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*ecb_inverse)(const std::uint8_t* keys, const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*ctr)(const std::uint8_t* keys, std::uint8_t* counter, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    /// A data unit of so many blocks. `keys` of the cipher, or for `inverse` of the equivalent inverse cipher.
    void (*xts)(const std::uint8_t* keys, const std::uint8_t* tweak_keys, const std::uint8_t* tweak,
                const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    void (*xts_inverse)(const std::uint8_t* keys, const std::uint8_t* tweak_keys, const std::uint8_t* tweak,
                        const std::uint8_t* input, std::uint8_t* output, std::size_t blocks);
    /// So many blocks of CBC decryption, whose keys are those of the equivalent inverse cipher.
    void (*cbc_inverse)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                        std::size_t blocks);
    /// Any number of blocks.
    void (*cbc)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*cfb)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*ofb)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                std::size_t blocks);
    void (*mac)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::size_t blocks);
    /// The text of a message of CCM: CTR with a counter of 64 bits, and the MAC of the plaintext beside it.
    void (*ccm_encrypt)(const std::uint8_t* keys, std::uint8_t* counter, std::uint8_t* chain, const std::uint8_t* input,
                        std::uint8_t* output, std::size_t blocks);
    void (*ccm_decrypt)(const std::uint8_t* keys, std::uint8_t* counter, std::uint8_t* chain, const std::uint8_t* input,
                        std::uint8_t* output, std::size_t blocks);
    /// Bytes.
    void (*cfb8)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bytes);
    /// Bits, either direction; what the last byte of the output holds behind them stays.
    void (*cfb1)(const std::uint8_t* keys, std::uint8_t* chain, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bits, bool encrypt);
};

/// `rounds`: 10, 12 or 14.
const Kernels& kernels(int rounds);

}  // namespace serial

}  // namespace warpaes::cpu
