// GF(2^8) and the S-box of FIPS 197 (sections 4.2 and 5.1.1). The tables are computed at compile time and contain only
// public constants: no secret is used as an index at run time. Secrets use the S-box of key_schedule.hpp.
#pragma once

#include <array>
#include <cstdint>

namespace warpaes {

constexpr std::uint8_t xtime(std::uint8_t a) {
    return static_cast<std::uint8_t>((a << 1) ^ ((a >> 7) * 0x1b));
}

constexpr std::uint8_t gf_mul(std::uint8_t a, std::uint8_t b) {
    std::uint8_t product = 0;
    for (; b != 0; b = static_cast<std::uint8_t>(b >> 1), a = xtime(a)) {
        if (b & 1) product = static_cast<std::uint8_t>(product ^ a);
    }
    return product;
}

namespace detail {

constexpr std::array<std::uint8_t, 256> make_sbox() {
    // p runs through the powers of the generator 3, and q through the powers of its inverse, so q = 1/p at every step.
    std::array<std::uint8_t, 256> s{};
    std::uint8_t p = 1, q = 1;
    const auto rotl8 = [](std::uint8_t v, int n) { return static_cast<std::uint8_t>((v << n) | (v >> (8 - n))); };
    do {
        p = gf_mul(p, 3);
        q = gf_mul(q, 0xf6);  // 1/3
        s[p] = static_cast<std::uint8_t>(q ^ rotl8(q, 1) ^ rotl8(q, 2) ^ rotl8(q, 3) ^ rotl8(q, 4) ^ 0x63);
    } while (p != 1);
    s[0] = 0x63;
    return s;
}

constexpr std::array<std::uint8_t, 256> invert(const std::array<std::uint8_t, 256>& s) {
    std::array<std::uint8_t, 256> inverse{};
    for (unsigned x = 0; x < 256; ++x) inverse[s[x]] = static_cast<std::uint8_t>(x);
    return inverse;
}

}  // namespace detail

inline constexpr std::array<std::uint8_t, 256> sbox = detail::make_sbox();
inline constexpr std::array<std::uint8_t, 256> inv_sbox = detail::invert(sbox);

}  // namespace warpaes
