// T-tables: SubBytes and MixColumns of one byte as one 32-bit word (Daemen and Rijmen, "AES Proposal: Rijndael",
// 5.2.1).
//
// A state column is a little-endian word: row 0 is its low byte. With te0[x] = S(x) * (02, 01, 01, 03), a column of the
// next state is te0[a0] ^ rotl8(te0[b1]) ^ rotl16(te0[c2]) ^ rotl24(te0[d3]) ^ round key, where a, b, c and d are the
// columns that ShiftRows combines. td0 is the corresponding table of the equivalent inverse cipher (FIPS 197, 5.3.5).
#pragma once

#include <array>
#include <cstdint>

#include "aes/gf256.hpp"

namespace warpaes {

namespace detail {

constexpr std::uint32_t column(std::uint8_t r0, std::uint8_t r1, std::uint8_t r2, std::uint8_t r3) {
    return static_cast<std::uint32_t>(r0) | (static_cast<std::uint32_t>(r1) << 8) |
           (static_cast<std::uint32_t>(r2) << 16) | (static_cast<std::uint32_t>(r3) << 24);
}

constexpr std::array<std::uint32_t, 256> make_te0() {
    std::array<std::uint32_t, 256> table{};
    for (unsigned x = 0; x < 256; ++x) {
        const std::uint8_t s = sbox[x];
        table[x] = column(gf_mul(s, 2), s, s, gf_mul(s, 3));
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> make_td0() {
    std::array<std::uint32_t, 256> table{};
    for (unsigned x = 0; x < 256; ++x) {
        const std::uint8_t s = inv_sbox[x];
        table[x] = column(gf_mul(s, 0x0e), gf_mul(s, 0x09), gf_mul(s, 0x0d), gf_mul(s, 0x0b));
    }
    return table;
}

}  // namespace detail

inline constexpr std::array<std::uint32_t, 256> te0 = detail::make_te0();
inline constexpr std::array<std::uint32_t, 256> td0 = detail::make_td0();

}  // namespace warpaes
