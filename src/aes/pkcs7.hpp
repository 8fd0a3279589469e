// PKCS#7 padding (RFC 5652, section 6.3) for 16-byte blocks.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// Pads `block`, whose first `used` bytes (0 to 15) are data, to a whole block.
constexpr void pkcs7_pad(Block& block, std::size_t used) {
    const auto n = static_cast<std::uint8_t>(block_bytes - used);
    for (std::size_t i = used; i < block_bytes; ++i) block[i] = n;
}

/// Returns the number of message bytes in the last block, 0 to 15; 16 if the padding is wrong. The time does not depend
/// on the padding, so an attacker learns only the result (Vaudenay 2002).
constexpr std::size_t pkcs7_unpad(const Block& block) {
    const unsigned n = block[block_bytes - 1];
    unsigned wrong = static_cast<unsigned>(n - 1u) & ~15u;  // n must be 1 … 16
    for (unsigned i = 0; i < block_bytes; ++i) {
        // All ones if byte i belongs to the padding: i + n >= 16.
        const unsigned in_padding = 0u - (((i + n - 16u) >> 31) ^ 1u);
        wrong |= in_padding & (block[i] ^ n);
    }
    const unsigned bad = 0u - static_cast<unsigned>(((wrong | (0u - wrong)) >> 31) & 1u);
    return static_cast<std::size_t>((bad & 16u) | (~bad & (16u - n)));
}

}  // namespace warpaes
