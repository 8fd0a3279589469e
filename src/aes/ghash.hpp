// GHASH (SP 800-38D, 6.3 and 6.4): arithmetic in GF(2^128) with x^128 + x^7 + x^2 + x + 1, in GCM's order of bits: bit 0
// of a field element is the most significant bit of byte 0.
//
// Constant time throughout: no branch and no address depends on a field element. Exponents and lengths are public.
#pragma once

#include <array>
#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// A field element as two halves; bit 0 of the element is the most significant bit of `high`.
struct FieldElement {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr FieldElement operator^(FieldElement a, FieldElement b) {
        return {a.high ^ b.high, a.low ^ b.low};
    }
    friend constexpr bool operator==(const FieldElement&, const FieldElement&) = default;
};

constexpr FieldElement load_element(const Block& block) {
    FieldElement e;
    for (unsigned i = 0; i < 8; ++i) {
        e.high = (e.high << 8) | block[i];
        e.low = (e.low << 8) | block[i + 8];
    }
    return e;
}

constexpr Block store_element(FieldElement e) {
    Block block{};
    for (unsigned i = 0; i < 8; ++i) {
        block[i] = static_cast<std::uint8_t>(e.high >> (56 - 8 * i));
        block[i + 8] = static_cast<std::uint8_t>(e.low >> (56 - 8 * i));
    }
    return block;
}

/// e * x: in this order of bits a shift to the right.
constexpr FieldElement times_x(FieldElement e) {
    const std::uint64_t carry = 0 - (e.low & 1);
    return {(e.high >> 1) ^ (carry & 0xe100000000000000u), (e.low >> 1) | (e.high << 63)};
}

/// SP 800-38D, algorithm 1.
constexpr FieldElement multiply(FieldElement a, FieldElement b) {
    FieldElement sum;
    for (int half = 0; half < 2; ++half) {
        const std::uint64_t bits = half == 0 ? a.high : a.low;
        for (int i = 63; i >= 0; --i) {
            const std::uint64_t mask = 0 - ((bits >> i) & 1);
            sum.high ^= b.high & mask;
            sum.low ^= b.low & mask;
            b = times_x(b);
        }
    }
    return sum;
}

/// The one of the field: bit 0 alone.
inline constexpr FieldElement field_one{0x8000000000000000u, 0};

/// e^n by squaring; takes time that depends on n, which is public.
constexpr FieldElement power(FieldElement e, std::uint64_t n) {
    FieldElement result = field_one;
    for (; n != 0; n >>= 1) {
        if (n & 1) result = multiply(result, e);
        if (n > 1) e = multiply(e, e);
    }
    return result;
}

/// The hash subkey H = E(K, 0) and its powers: powers[i] = H^(i + 1).
struct HashKey {
    static constexpr std::size_t count = 64;
    std::array<FieldElement, count> powers{};
};

constexpr std::uint64_t blocks_of(std::uint64_t bytes) {
    return bytes / block_bytes + (bytes % block_bytes != 0);
}

/// The last block that GHASH takes: both lengths in bits (SP 800-38D, 7.1, step 5).
constexpr FieldElement length_block(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
    return {aad_bytes * 8, text_bytes * 8};
}

/// The whole digest from those of the parts, each started from zero: S of SP 800-38D, 7.1, step 5.
constexpr FieldElement whole_digest(FieldElement h, FieldElement aad_digest, std::uint64_t aad_bytes,
                                    FieldElement text_digest, std::uint64_t text_bytes) {
    const FieldElement both = multiply(aad_digest, power(h, blocks_of(text_bytes))) ^ text_digest;
    return multiply(both ^ length_block(aad_bytes, text_bytes), h);
}

/// The first counter block of a stretch: inc32 (SP 800-38D, 6.2) applied `times` times.
constexpr Block inc32(Block block, std::uint64_t times = 1) {
    std::uint32_t low = 0;
    for (unsigned i = 12; i < 16; ++i) low = (low << 8) | block[i];
    low += static_cast<std::uint32_t>(times);
    for (unsigned i = 0; i < 4; ++i) block[12 + i] = static_cast<std::uint8_t>(low >> (24 - 8 * i));
    return block;
}

/// Longest plaintext (SP 800-38D, 5.2.1.1): 2^39 - 256 bits.
inline constexpr std::uint64_t gcm_most_bytes = (std::uint64_t{1} << 36) - 32;
/// Longest associated data and IV: 2^64 - 1 bits, here whole bytes.
inline constexpr std::uint64_t gcm_most_aad_bytes = (std::uint64_t{1} << 61) - 1;

/// Tag lengths of SP 800-38D, 5.2.1.2, in bytes. 4 and 8 only with the limits of its appendix C.
constexpr bool is_gcm_tag_length(std::uint64_t bytes) {
    return bytes == 4 || bytes == 8 || (bytes >= 12 && bytes <= 16);
}

}  // namespace warpaes
