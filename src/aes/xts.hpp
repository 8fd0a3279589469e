// XTS (IEEE 1619, SP 800-38E): the arithmetic of tweaks in GF(2^128) with x^128 + x^7 + x^2 + x + 1, in XTS's bit
// order, which is entirely little-endian (unlike GHASH's), and the lengths that the standards allow.
//
// Block j of a data unit is C = E(K1, P ^ T) ^ T with T = E(K2, number of the unit) * x^j.
//
// Tweaks are secret: no branch and no address depends on a tweak. Exponents are positions in a message, which are
// public.
#pragma once

#include <array>
#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// A field element, or the number of a data unit, as two native halves: bit i of `low` is the coefficient of x^i.
struct Tweak {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend constexpr bool operator==(const Tweak&, const Tweak&) = default;
};

constexpr Tweak load_tweak(const Block& block) {
    Tweak t;
    for (unsigned i = 0; i < 8; ++i) {
        t.low |= std::uint64_t{block[i]} << (8 * i);
        t.high |= std::uint64_t{block[i + 8]} << (8 * i);
    }
    return t;
}

constexpr Block store_tweak(Tweak t) {
    Block block{};
    for (unsigned i = 0; i < 8; ++i) {
        block[i] = static_cast<std::uint8_t>(t.low >> (8 * i));
        block[i + 8] = static_cast<std::uint8_t>(t.high >> (8 * i));
    }
    return block;
}

/// Multiplies a tweak by x (IEEE 1619, 5.2).
constexpr Tweak times_x(Tweak t) {
    const std::uint64_t carry = 0 - (t.high >> 63);
    return {(t.low << 1) ^ (carry & 0x87), (t.high << 1) | (t.low >> 63)};
}

/// Multiplies a tweak by x^256 = (x^7 + x^2 + x + 1)^2 = x^14 + x^4 + x^2 + 1.
constexpr Tweak times_x_256(Tweak t) {
    Tweak product = t;
    std::uint64_t beyond = 0;
    for (const unsigned n : {2u, 4u, 14u}) {
        product.low ^= t.low << n;
        product.high ^= (t.high << n) | (t.low >> (64 - n));
        beyond ^= t.high >> (64 - n);
    }
    product.low ^= beyond ^ (beyond << 1) ^ (beyond << 2) ^ (beyond << 7);
    return product;
}

constexpr Tweak multiply(Tweak a, Tweak b) {
    Tweak sum;
    for (int bit = 127; bit >= 0; --bit) {
        sum = times_x(sum);
        const std::uint64_t mask = 0 - (((bit < 64 ? b.low >> bit : b.high >> (bit - 64))) & 1);
        sum.low ^= a.low & mask;
        sum.high ^= a.high & mask;
    }
    return sum;
}

namespace detail {

inline constexpr unsigned tweak_squares = 20;

/// Returns x^(2^k) for every k that a block index within a data unit may require.
constexpr std::array<Tweak, tweak_squares> make_tweak_powers() {
    std::array<Tweak, tweak_squares> powers{};
    powers[0] = {2, 0};
    for (unsigned k = 1; k < tweak_squares; ++k) powers[k] = multiply(powers[k - 1], powers[k - 1]);
    return powers;
}

}  // namespace detail

inline constexpr std::array<Tweak, detail::tweak_squares> tweak_powers = detail::make_tweak_powers();
static_assert(times_x_256({0x0123456789abcdef, 0xfedcba9876543210}) ==
              multiply({0x0123456789abcdef, 0xfedcba9876543210}, tweak_powers[8]));

/// Returns number + `n`, modulo 2^128.
constexpr Tweak add(Tweak number, std::uint64_t n) {
    const std::uint64_t low = number.low + n;
    return {low, number.high + (low < number.low ? 1u : 0u)};
}

/// Largest allowed difference between consecutive unit numbers: the size of the longest unit divided by that of the
/// shortest (IEEE 1619, 5.1, uses consecutive numbers; LUKS counts sectors of 512 bytes for units of any size).
inline constexpr std::uint64_t xts_most_step = std::uint64_t{1} << 20;

/// Returns the number of the unit that is `units` units later, where the numbers of consecutive units differ by `step`,
/// at most xts_most_step.
constexpr Tweak add_units(Tweak number, std::uint64_t units, std::uint64_t step) {
    Tweak sum = add(number, (units & 0xffffffffu) * step);
    const std::uint64_t upper = (units >> 32) * step;
    sum = add(sum, upper << 32);
    sum.high += upper >> 32;
    return sum;
}

/// The length of the shortest data unit, one block, and of the longest, 2^20 blocks (SP 800-38E, 4).
inline constexpr std::uint64_t xts_least_unit = block_bytes;
inline constexpr std::uint64_t xts_most_unit = std::uint64_t{1} << 24;

constexpr bool is_xts_unit(std::uint64_t bytes) {
    return bytes >= xts_least_unit && bytes <= xts_most_unit;
}

/// Whether `bytes` bytes can be cut into data units of `unit` bytes. The last unit may be shorter, but must contain at
/// least one block.
constexpr bool is_whole_units(std::uint64_t bytes, std::uint64_t unit) {
    return bytes % unit == 0 || bytes % unit >= xts_least_unit;
}

}  // namespace warpaes
