// The contender without tables: the bitsliced cipher of <warpaes/device.cuh> in its own kernel, AES-128.
#pragma once

#include <cstdint>
#include <span>

#include "lab/gpu/variants.hpp"

namespace lab::gpu {

/// Enqueues ECB, or CTR if `counter` is not empty; it then has 16 bytes and is a multiple of 1,024. `key` has 16 bytes,
/// and `bytes` is a number of whole blocks. Both pointers are in device memory and multiples of 16; in place is
/// allowed. Throws std::invalid_argument.
void run_bitsliced(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, const std::uint8_t* input,
                   std::uint8_t* output, std::size_t bytes, const Stream& stream);
Resources bitsliced_resources(bool counter);

}  // namespace lab::gpu
