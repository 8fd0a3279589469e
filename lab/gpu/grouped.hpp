// [G]'s third scheme with groups that process several blocks: sixteen threads load the text of 4 or 8 blocks at once,
// 64 or 128 bytes, and encrypt one block after the other with a lookup each. AES-128-ECB, four tables in constant
// memory.
#pragma once

#include <cstdint>
#include <span>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Enqueues the encryption. `key` has 16 bytes, `blocks_of_group` is 4 or 8, and `bytes` is a number of whole blocks.
/// Both pointers are in device memory and multiples of 16; in place is allowed. Throws std::invalid_argument.
void run_grouped(std::span<const std::uint8_t> key, unsigned blocks_of_group, const std::uint8_t* input,
                 std::uint8_t* output, std::size_t bytes, const Stream& stream);

}  // namespace lab::gpu
