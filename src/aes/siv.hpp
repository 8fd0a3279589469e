// SIV (RFC 5297): the arithmetic around CMAC and CTR.
#pragma once

#include <cstdint>
#include <span>

#include "aes/cmac.hpp"
#include "aes/types.hpp"

namespace warpaes {

/// The largest number of S2V components, including the plaintext, for which S2V is secure (RFC 5297, 2.6).
inline constexpr std::uint64_t siv_most_components = 127;

/// Returns D after one additional component, whose CMAC is `mac`.
constexpr Block siv_next(const Block& d, const Block& mac) {
    return doubled(d) ^ mac;
}

/// Returns the end of S2V's final CMAC input. `last` is the last component's last 16 bytes, or all of the component if
/// it is shorter.
constexpr Block siv_end(const Block& d, std::span<const std::uint8_t> last) {
    const bool whole = last.size() == block_bytes;
    Block end = whole ? d : doubled(d);
    for (std::size_t i = 0; i < last.size(); ++i) end[i] = static_cast<std::uint8_t>(end[i] ^ last[i]);
    if (!whole) end[last.size()] = static_cast<std::uint8_t>(end[last.size()] ^ 0x80);
    return end;
}

/// Returns the first counter block, Q of RFC 5297, 2.6, which is V with two bits cleared.
constexpr Block siv_counter(Block v) {
    v[8] &= 0x7f;
    v[12] &= 0x7f;
    return v;
}

}  // namespace warpaes
