// The contender without tables: <warpaes/device.cuh>'s bitsliced cipher in a kernel of its own, AES-128.
#pragma once

#include <cstdint>
#include <span>

#include "lab/gpu/variants.hpp"

namespace lab::gpu {

/// ECB, or CTR if `counter` is not empty: then 16 bytes, a multiple of 1,024. `key`: 16 bytes. `bytes` of text, whole
/// blocks, both pointers on the device and multiples of 16; in place is allowed. Throws std::invalid_argument.
void run_bitsliced(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, const std::uint8_t* input,
                   std::uint8_t* output, std::size_t bytes, const Stream& stream);
Resources bitsliced_resources(bool counter);

}  // namespace lab::gpu
