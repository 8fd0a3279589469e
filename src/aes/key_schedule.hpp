// Key expansion (FIPS 197, section 5.2) and the round keys of the equivalent inverse cipher (section 5.3.5).
//
// The key is secret, so SubWord is computed by the gate circuit on bit planes and never by table lookup: expansion
// takes the same time and accesses the same memory for every key.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "aes/gf256.hpp"
#include "aes/types.hpp"
#include "warpaes/device/sbox_circuit.cuh"

namespace warpaes {

/// x := S(x) ^ 0x63 on bit planes: x[i] contains bit i of many bytes at once. The caller adds the affine constant,
/// which can be folded into a round key. The circuit has no table and no branch, so its time and its memory accesses
/// reveal nothing about its input. `Word` is any unsigned integer or vector type.
template <typename Word>
WARPAES_HD constexpr void sub_planes_without_constant(Word (&x)[8]) {
    device::detail::sbox_circuit<device::detail::Gates, Word>(x);
}

inline constexpr int max_rounds = 14;

/// Number of rounds for a key of `key_bytes` bytes: 10, 12 or 14; 0 if AES has no such key length.
constexpr int rounds_for_key_bytes(std::size_t key_bytes) {
    switch (key_bytes) {
    case 16:
        return 10;
    case 24:
        return 12;
    case 32:
        return 14;
    default:
        return 0;
    }
}

/// Round keys as little-endian columns, word 4r + c for column c of round r.
struct RoundKeys {
    alignas(16) std::array<std::uint32_t, 4 * (max_rounds + 1)> words{};
};

namespace detail {

constexpr std::uint32_t sub_word(std::uint32_t word) {
    std::uint32_t planes[8] = {};
    for (unsigned byte = 0; byte < 4; ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) planes[bit] |= ((word >> (8 * byte + bit)) & 1u) << byte;
    sub_planes_without_constant(planes);
    std::uint32_t out = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) out |= ((planes[bit] >> byte) & 1u) << (8 * byte + bit);
    return out ^ 0x63636363u;
}

/// Computes xtime of the four bytes of a word at once, without a branch.
constexpr std::uint32_t xtime4(std::uint32_t v) {
    return ((v & 0x7f7f7f7fu) << 1) ^ (((v >> 7) & 0x01010101u) * 0x1b);
}

constexpr std::uint32_t rotr32(std::uint32_t v, int bits) {
    return (v >> bits) | (v << (32 - bits));
}

constexpr std::uint32_t inv_mix_column(std::uint32_t v) {
    const std::uint32_t v2 = xtime4(v), v4 = xtime4(v2), v8 = xtime4(v4);
    const std::uint32_t v9 = v8 ^ v;
    return (v8 ^ v4 ^ v2) ^ rotr32(v9 ^ v2, 8) ^ rotr32(v9 ^ v4, 16) ^ rotr32(v9, 24);
}

}  // namespace detail

/// Expands a key of 16, 24 or 32 bytes; the caller must have checked the length.
constexpr RoundKeys expand_key(std::span<const std::uint8_t> key) {
    const auto nk = static_cast<unsigned>(key.size() / 4);
    const auto total = 4u * (nk + 7u);
    RoundKeys keys;
    auto& w = keys.words;
    for (unsigned i = 0; i < nk; ++i) {
        w[i] = static_cast<std::uint32_t>(key[4 * i]) | (static_cast<std::uint32_t>(key[4 * i + 1]) << 8) |
               (static_cast<std::uint32_t>(key[4 * i + 2]) << 16) | (static_cast<std::uint32_t>(key[4 * i + 3]) << 24);
    }
    std::uint8_t rcon = 1;
    for (unsigned i = nk; i < total; ++i) {
        std::uint32_t temp = w[i - 1];
        if (i % nk == 0) {  // NOLINT(clang-analyzer-core.DivideZero): nk is 4, 6 or 8
            temp = detail::sub_word(detail::rotr32(temp, 8)) ^ rcon;
            rcon = xtime(rcon);
        } else if (nk > 6 && i % nk == 4) {
            temp = detail::sub_word(temp);
        }
        w[i] = w[i - nk] ^ temp;
    }
    return keys;
}

/// Returns the round keys of the equivalent inverse cipher: in reverse order, with InvMixColumns applied to all except
/// the first and the last.
constexpr RoundKeys invert_round_keys(const RoundKeys& encrypt, int rounds) {
    RoundKeys keys;
    const auto nr = static_cast<unsigned>(rounds);
    for (unsigned r = 0; r <= nr; ++r) {
        for (unsigned c = 0; c < 4; ++c) {
            const std::uint32_t word = encrypt.words[4 * (nr - r) + c];
            keys.words[4 * r + c] = (r == 0 || r == nr) ? word : detail::inv_mix_column(word);
        }
    }
    return keys;
}

}  // namespace warpaes
