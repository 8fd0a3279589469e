// Contenders with different designs, all AES-128: a bitsliced cipher, [G]'s third scheme with several blocks per group,
// and a counter mode with a cached first round.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lab/gpu/variants.hpp"

namespace lab::gpu {

// The bitsliced cipher of <warpaes/device.cuh> in its own kernel.

/// Enqueues ECB, or CTR if `counter` is not empty. A counter has 16 bytes and is a multiple of 1,024. `key` has 16
/// bytes, and `bytes` is a multiple of 16. Both pointers are in device memory and aligned to 16 bytes; in place is
/// allowed. Throws std::invalid_argument.
void run_bitsliced(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, const std::uint8_t* input,
                   std::uint8_t* output, std::size_t bytes, const Stream& stream);
Resources bitsliced_resources(bool counter);

// [G]'s third scheme with groups that process several blocks: sixteen threads load the text of 4 or 8 blocks (64 or 128
// bytes) at once, and encrypt the blocks in sequence with one lookup per thread and round. ECB, four tables in constant
// memory.

/// Enqueues the encryption. `key` has 16 bytes, `blocks_of_group` is 4 or 8, and `bytes` is a multiple of 16. Both
/// pointers are in device memory and aligned to 16 bytes; in place is allowed. Throws std::invalid_argument.
void run_grouped(std::span<const std::uint8_t> key, unsigned blocks_of_group, const std::uint8_t* input,
                 std::uint8_t* output, std::size_t bytes, const Stream& stream);

/// The counter mode of Lee, Seo, Zhao and Hwang (2022): one table with a copy for each bank, and the first round
/// computed once for 65,536 counters that differ in two bytes. This implementation follows the paper's description.
class CachedCounter {
public:
    /// Computes the cached columns of `bytes` bytes of key stream, on the host. `key`, `counter`: 16 bytes. Throws
    /// std::invalid_argument.
    CachedCounter(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, std::size_t bytes);
    ~CachedCounter();
    CachedCounter(const CachedCounter&) = delete;
    CachedCounter& operator=(const CachedCounter&) = delete;

    /// Enqueues CTR. `bytes` is a multiple of 16, and at most the number of bytes given to the constructor. Both
    /// pointers are in device memory and aligned to 16 bytes; in place is allowed. Throws std::invalid_argument.
    void run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const Stream& stream) const;

private:
    struct State;
    std::unique_ptr<const State> state_;
};

}  // namespace lab::gpu
