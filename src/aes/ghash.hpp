// GHASH (SP 800-38D, 6.3 and 6.4): arithmetic in GF(2^128) with x^128 + x^7 + x^2 + x + 1, in GCM's bit order: bit 0 of
// a field element is the most significant bit of byte 0.
//
// Constant-time on processors with constant-time integer multiplication: no branch and no address depends on a field
// element. Exponents and lengths are public.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "aes/types.hpp"

#if defined(__x86_64__)
#include <wmmintrin.h>
#endif

namespace warpaes {

/// A field element as two halves; bit 0 of the element is the most significant bit of `high`.
struct FieldElement {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr FieldElement operator^(FieldElement a, FieldElement b) { return {a.high ^ b.high, a.low ^ b.low}; }
    friend constexpr bool operator==(const FieldElement&, const FieldElement&) = default;
};

constexpr FieldElement load_element(const Block& block) {
    return load_halves<FieldElement>(block);
}

constexpr Block store_element(FieldElement e) {
    return store_halves(e);
}

namespace detail {

/// Returns the lower 64 bits of the carry-less product of `a` and `b`. Only every fourth bit of the factors is
/// multiplied at a time, so the carries of an ordinary multiplication fall into the three bits between, which are
/// masked out (the method of BearSSL).
constexpr std::uint64_t multiply_low(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    for (unsigned r = 0; r < 4; ++r) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned j = (r + 4 - i) % 4;
            sum ^= (a & (0x1111111111111111u << i)) * (b & (0x1111111111111111u << j));
        }
        product |= sum & (0x1111111111111111u << r);
    }
    return product;
}

constexpr std::uint64_t reverse_bits(std::uint64_t v) {
    v = ((v >> 1) & 0x5555555555555555u) | ((v & 0x5555555555555555u) << 1);
    v = ((v >> 2) & 0x3333333333333333u) | ((v & 0x3333333333333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((v & 0x0f0f0f0f0f0f0f0fu) << 4);
    v = ((v >> 8) & 0x00ff00ff00ff00ffu) | ((v & 0x00ff00ff00ff00ffu) << 8);
    v = ((v >> 16) & 0x0000ffff0000ffffu) | ((v & 0x0000ffff0000ffffu) << 16);
    return (v >> 32) | (v << 32);
}

/// Moves each of the lower 32 bits to twice its position, which squares a polynomial over GF(2).
constexpr std::uint64_t spread_bits(std::uint64_t low_half) {
    std::uint64_t v = low_half & 0xffffffffu;
    v = (v | (v << 16)) & 0x0000ffff0000ffffu;
    v = (v | (v << 8)) & 0x00ff00ff00ff00ffu;
    v = (v | (v << 4)) & 0x0f0f0f0f0f0f0f0fu;
    v = (v | (v << 2)) & 0x3333333333333333u;
    return (v | (v << 1)) & 0x5555555555555555u;
}

/// Reduces a carry-less product to a field element; v3 is the most significant word. The bits of a field element are
/// reversed, so the product is one bit too far to the right and is first shifted left.
constexpr FieldElement reduce(std::uint64_t v3, std::uint64_t v2, std::uint64_t v1, std::uint64_t v0) {
    v3 = (v3 << 1) | (v2 >> 63);
    v2 = (v2 << 1) | (v1 >> 63);
    v1 = (v1 << 1) | (v0 >> 63);
    v0 = v0 << 1;
    v2 ^= v0 ^ (v0 >> 1) ^ (v0 >> 2) ^ (v0 >> 7);
    v1 ^= (v0 << 63) ^ (v0 << 62) ^ (v0 << 57);
    v3 ^= v1 ^ (v1 >> 1) ^ (v1 >> 2) ^ (v1 >> 7);
    v2 ^= (v1 << 63) ^ (v1 << 62) ^ (v1 << 57);
    return {v3, v2};
}

#if defined(__x86_64__)
inline const bool has_carryless_product = __builtin_cpu_supports("pclmul") != 0;

[[gnu::target("pclmul")]] inline __m128i carryless_product(std::uint64_t a, std::uint64_t b) {
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                _mm_cvtsi64_si128(static_cast<long long>(b)), 0);
}

/// Computes the product with PCLMULQDQ, in a tenth of the time that the portable code of multiply() takes.
[[gnu::target("pclmul")]] inline FieldElement multiply_by_instruction(FieldElement a, FieldElement b) {
    const auto lower = [](__m128i v) { return static_cast<std::uint64_t>(_mm_cvtsi128_si64(v)); };
    const auto upper = [](__m128i v) {
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v)));
    };
    const __m128i low = carryless_product(a.low, b.low), high = carryless_product(a.high, b.high);
    const __m128i middle = _mm_xor_si128(carryless_product(a.low ^ a.high, b.low ^ b.high), _mm_xor_si128(low, high));
    return reduce(upper(high), lower(high) ^ upper(middle), upper(low) ^ lower(middle), lower(low));
}
#endif

}  // namespace detail

/// Returns e * x, which is a right shift in GCM's bit order.
constexpr FieldElement times_x(FieldElement e) {
    const std::uint64_t carry = 0 - (e.low & 1);
    return {(e.high >> 1) ^ (carry & 0xe100000000000000u), (e.low >> 1) | (e.high << 63)};
}

/// Returns the product of SP 800-38D, 6.3, computed from Karatsuba's three products of halves. Without PCLMULQDQ, the
/// upper half of each product is computed as the reversed lower half of the product of the reversed factors.
constexpr FieldElement multiply(FieldElement a, FieldElement b) {
#if defined(__x86_64__)
    if (!std::is_constant_evaluated() && detail::has_carryless_product) return detail::multiply_by_instruction(a, b);
#endif
    const auto reversed = [](FieldElement e) {
        return FieldElement{detail::reverse_bits(e.high), detail::reverse_bits(e.low)};
    };
    const auto upper = [](std::uint64_t x, std::uint64_t y) {
        return detail::reverse_bits(detail::multiply_low(x, y)) >> 1;
    };
    const FieldElement ra = reversed(a), rb = reversed(b);
    const std::uint64_t low = detail::multiply_low(a.low, b.low), low_upper = upper(ra.low, rb.low);
    const std::uint64_t high = detail::multiply_low(a.high, b.high), high_upper = upper(ra.high, rb.high);
    const std::uint64_t middle = detail::multiply_low(a.low ^ a.high, b.low ^ b.high) ^ low ^ high;
    const std::uint64_t middle_upper = upper(ra.low ^ ra.high, rb.low ^ rb.high) ^ low_upper ^ high_upper;
    return detail::reduce(high_upper, high ^ middle_upper, low_upper ^ middle, low);
}

constexpr FieldElement square(FieldElement e) {
    return detail::reduce(detail::spread_bits(e.high >> 32), detail::spread_bits(e.high),
                          detail::spread_bits(e.low >> 32), detail::spread_bits(e.low));
}

/// The multiplicative identity: only bit 0 is set.
inline constexpr FieldElement field_one{0x8000000000000000u, 0};

/// Returns e^n, computed by squaring. The time depends on n, which is public.
constexpr FieldElement power(FieldElement e, std::uint64_t n) {
    if (n == 0) return field_one;
    FieldElement result = e;
    for (int bit = 62 - __builtin_clzll(n); bit >= 0; --bit) {
        result = square(result);
        if ((n >> bit) & 1) result = multiply(result, e);
    }
    return result;
}

/// Returns 1 / e = e^(2^128 - 2), or 0 if e is 0. The function computes the e_k = e^(2^k - 1) from each other, because
/// e_2k = e_k^(2^k) * e_k (Itoh and Tsujii).
constexpr FieldElement inverse(FieldElement e) {
    FieldElement result = e;
    for (int k = 1; k != 127; k = 2 * k + 1) {
        FieldElement shifted = result;
        for (int i = 0; i < k; ++i) shifted = square(shifted);
        result = multiply(square(multiply(shifted, result)), e);
    }
    return square(result);
}

/// Returns e / x, which is a left shift in GCM's bit order.
constexpr FieldElement divided_by_x(FieldElement e) {
    const std::uint64_t carry = 0 - (e.high >> 63);
    return {((e.high << 1) | (e.low >> 63)) ^ (carry & 0xc200000000000000u), (e.low << 1) ^ (carry & 1)};
}

/// The hash subkey H = E(K, 0) and its powers.
struct HashKey {
    static constexpr std::size_t count = 64;

    /// powers[i] = H^(i + 1).
    std::array<FieldElement, count> powers{};

    /// H^(64 - i) / x in the format of the CPU's carry-less multiplication: a little-endian 128-bit integer. Zeros
    /// follow the last element, so that two vectors of 64 bytes can be loaded at any power.
    struct Element {
        std::uint64_t low = 0, high = 0;
    };
    alignas(64) std::array<Element, count + 7> descending{};

    /// The sum of the two halves of each element, stored in both halves.
    alignas(64) std::array<Element, count + 7> folded{};
};

/// Computes the powers of a hash subkey.
constexpr HashKey make_hash_key(FieldElement h) {
    HashKey key;
    key.powers[0] = h;
    for (std::size_t i = 1; i < HashKey::count; ++i) {
        key.powers[i] = i % 2 != 0 ? square(key.powers[i / 2]) : multiply(key.powers[i - 1], h);
    }
    for (std::size_t i = 0; i < HashKey::count; ++i) {
        const FieldElement e = divided_by_x(key.powers[i]);
        key.descending[HashKey::count - 1 - i] = {e.low, e.high};
        key.folded[HashKey::count - 1 - i] = {e.low ^ e.high, e.low ^ e.high};
    }
    return key;
}

/// Returns H^n, computed from the powers of H in `key`.
constexpr FieldElement power(const HashKey& key, std::uint64_t n) {
    const std::uint64_t whole = n / HashKey::count, rest = n % HashKey::count;
    const FieldElement far = power(key.powers[HashKey::count - 1], whole);
    return rest == 0 ? far : whole == 0 ? key.powers[rest - 1] : multiply(far, key.powers[rest - 1]);
}

constexpr std::uint64_t blocks_of(std::uint64_t bytes) {
    return bytes / block_bytes + (bytes % block_bytes != 0);
}

/// Adds `bytes` bytes to `digest`, with the last block padded with zeros. The function processes one block at a time,
/// so it is suitable only for a few blocks.
constexpr void hash_blocks(FieldElement h, const std::uint8_t* data, std::uint64_t bytes, FieldElement& digest) {
    for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
        Block block{};
        std::copy_n(data + at, std::min<std::uint64_t>(block_bytes, bytes - at), block.begin());
        digest = multiply(digest ^ load_element(block), h);
    }
}

/// Returns the last block of the GHASH input, which contains both lengths in bits (SP 800-38D, 7.1, step 5).
constexpr FieldElement length_block(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
    return {aad_bytes * 8, text_bytes * 8};
}

/// Joins the digests of two consecutive parts, each hashed from zero. The first part consists of whole blocks, or is
/// padded to whole blocks, as GCM pads the associated data.
constexpr FieldElement join_digests(FieldElement h, FieldElement first, FieldElement second,
                                    std::uint64_t second_bytes) {
    return multiply(first, power(h, blocks_of(second_bytes))) ^ second;
}

/// Returns S of SP 800-38D, 7.1, step 5: the digest of both parts, of which each was hashed from zero, and of their
/// lengths.
constexpr FieldElement whole_digest(FieldElement h, FieldElement aad_digest, std::uint64_t aad_bytes,
                                    FieldElement text_digest, std::uint64_t text_bytes) {
    const FieldElement both = aad_bytes == 0 ? text_digest : join_digests(h, aad_digest, text_digest, text_bytes);
    return multiply(both ^ length_block(aad_bytes, text_bytes), h);
}

/// Length of a nonce that needs no hashing (SP 800-38D, 7.1, step 2).
inline constexpr std::size_t gcm_nonce_bytes = 12;

/// Returns the pre-counter block J0 for a nonce of gcm_nonce_bytes bytes.
constexpr Block pre_counter(std::span<const std::uint8_t, gcm_nonce_bytes> nonce) {
    Block j0{};
    std::copy(nonce.begin(), nonce.end(), j0.begin());
    j0[15] = 1;
    return j0;
}

/// Returns the pre-counter block J0 for a nonce of any other length, from its digest (SP 800-38D, 7.1, step 2).
constexpr Block pre_counter(FieldElement h, const Block& nonce_digest, std::uint64_t nonce_bytes) {
    return store_element(multiply(load_element(nonce_digest) ^ length_block(0, nonce_bytes), h));
}

/// Applies inc32 (SP 800-38D, 6.2) `times` times.
constexpr Block inc32(Block block, std::uint64_t times = 1) {
    std::uint32_t low = 0;
    for (unsigned i = 12; i < 16; ++i) low = (low << 8) | block[i];
    low += static_cast<std::uint32_t>(times);
    for (unsigned i = 0; i < 4; ++i) block[12 + i] = static_cast<std::uint8_t>(low >> (24 - 8 * i));
    return block;
}

/// The maximum lengths of the plaintext and of the associated data, in bytes.
inline constexpr std::uint64_t gcm_most_bytes = traits_of(Mode::gcm).most_text;
inline constexpr std::uint64_t gcm_most_aad_bytes = traits_of(Mode::gcm).most_aad;

}  // namespace warpaes
