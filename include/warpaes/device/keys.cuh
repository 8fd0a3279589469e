// Keys and key schedules (FIPS 197, 5.2 and 5.3.5). Part of <warpaes/device.cuh>, whose rules apply.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/sbox.cuh>

namespace warpaes::device {

/// Nr of FIPS 197, the number of rounds: 10, 12 or 14.
template <int KeyBits>
inline constexpr int rounds = KeyBits / 32 + 6;

/// A key: word i contains bytes 4 i to 4 i + 3, with the first byte in its low bits.
template <int KeyBits>
struct cipher_key {
    static_assert(KeyBits == 128 || KeyBits == 192 || KeyBits == 256, "AES has keys of 128, 192 and 256 bits");
    std::uint32_t words[KeyBits / 32];
};

/// Word c of the round key of round r is words[4 r + c].
template <int KeyBits>
struct key_schedule {
    alignas(16) std::uint32_t words[4 * (rounds<KeyBits> + 1)];
};

/// Round keys of the equivalent inverse cipher, in order of use.
template <int KeyBits>
struct inverse_key_schedule {
    alignas(16) std::uint32_t words[4 * (rounds<KeyBits> + 1)];
};

__host__ __device__ __forceinline__ cipher_key<128> make_key(uint4 bytes) {
    return {{bytes.x, bytes.y, bytes.z, bytes.w}};
}
__host__ __device__ __forceinline__ cipher_key<192> make_key(uint4 first, uint2 last) {
    return {{first.x, first.y, first.z, first.w, last.x, last.y}};
}
__host__ __device__ __forceinline__ cipher_key<256> make_key(uint4 first, uint4 last) {
    return {{first.x, first.y, first.z, first.w, last.x, last.y, last.z, last.w}};
}
/// Reads a key from `KeyBits / 8` bytes at `bytes`, which need no alignment.
template <int KeyBits>
__host__ __device__ __forceinline__ cipher_key<KeyBits> make_key(const unsigned char* bytes) {
    cipher_key<KeyBits> key{};
    WARPAES_UNROLL
    for (int i = 0; i < KeyBits / 8; ++i) key.words[i / 4] |= static_cast<std::uint32_t>(bytes[i]) << (i % 4 * 8);
    return key;
}

namespace detail {

/// Rcon[i] of FIPS 197, 5.2, for i from 1 to 10.
__host__ __device__ constexpr std::uint32_t rcon(int i) {
    return i < 9 ? 1u << (i - 1) : 0x1bu << (i - 9);
}

/// SubWord as a circuit (sbox.cuh), for callers without tables.
struct without_tables {
    template <unsigned Rotate>
    __host__ __device__ __forceinline__ std::uint32_t sub_word(std::uint32_t word) const {
        return detail::sub_word<Rotate>(word);
    }
};

/// One step of the key expansion. Word j is stored in w[j % Nk], so w contains the last Nk words; the new word i
/// overwrites word i - Nk.
template <int KeyBits, typename Substitution>
__host__ __device__ __forceinline__ void expand_word(const Substitution& sub, std::uint32_t (&w)[KeyBits / 32], int i) {
    constexpr int nk = KeyBits / 32;
    std::uint32_t temp = w[(i + nk - 1) % nk];
    if (i % nk == 0) {
        temp = sub.template sub_word<1>(temp) ^ rcon(i / nk);
    } else if (nk > 6 && i % nk == 4) {
        temp = sub.template sub_word<0>(temp);
    }
    w[i % nk] ^= temp;
}

template <int KeyBits, typename Substitution>
__host__ __device__ __forceinline__ key_schedule<KeyBits> expand(const Substitution& sub,
                                                                 const cipher_key<KeyBits>& key) {
    constexpr int nk = KeyBits / 32;
    key_schedule<KeyBits> keys;
    std::uint32_t w[nk];
    WARPAES_UNROLL
    for (int i = 0; i < nk; ++i) keys.words[i] = w[i] = key.words[i];
    WARPAES_UNROLL
    for (int i = nk; i < 4 * (rounds<KeyBits> + 1); ++i) {
        expand_word<KeyBits>(sub, w, i);
        keys.words[i] = w[i % nk];
    }
    return keys;
}

__host__ __device__ __forceinline__ std::uint32_t rotate_right(std::uint32_t v, int bits) {
    return v >> bits | v << (32 - bits);
}

/// InvMixColumns (FIPS 197, 5.3.3) of one column.
__host__ __device__ __forceinline__ std::uint32_t inv_mix_column(std::uint32_t v) {
    const std::uint32_t v2 = xtime4(v), v4 = xtime4(v2), v9 = xtime4(v4) ^ v;
    return (v9 ^ v4 ^ v2 ^ v) ^ rotate_right(v9 ^ v2, 8) ^ rotate_right(v9 ^ v4, 16) ^ rotate_right(v9, 24);
}

}  // namespace detail

/// KeyExpansion (FIPS 197, 5.2) without tables, with the circuit of sbox.cuh; it also runs on the host. It takes about
/// 100 instructions for each of its 10, 8 or 13 SubWords. Use it for keys that are expanded once, and where only the
/// inverse tables are loaded.
template <int KeyBits>
__host__ __device__ __forceinline__ key_schedule<KeyBits> expand_key(const cipher_key<KeyBits>& key) {
    return detail::expand(detail::without_tables{}, key);
}

/// KeyExpansion with the tables `t` (tables<Count>, loaded): 40, 32 or 52 lookups. The schedule stays in 44, 52 or 60
/// registers if all indices into it are compile-time constants, as they are in encrypt_block. For a key that encrypts
/// only one, two or four blocks, use counter_prg, which stores no schedule.
template <int KeyBits, typename Tables>
__device__ __forceinline__ key_schedule<KeyBits> expand_key(const Tables& t, const cipher_key<KeyBits>& key) {
    return detail::expand(t, key);
}

/// The key schedule of the equivalent inverse cipher (FIPS 197, 5.3.5). It takes about 20 instructions and no lookup
/// for each word of the inner round keys.
template <int KeyBits>
__host__ __device__ __forceinline__ inverse_key_schedule<KeyBits> invert(const key_schedule<KeyBits>& keys) {
    constexpr int nr = rounds<KeyBits>;
    inverse_key_schedule<KeyBits> inverse;
    WARPAES_UNROLL
    for (int i = 0; i < 4 * (nr + 1); ++i) {
        const std::uint32_t word = keys.words[4 * (nr - i / 4) + i % 4];
        inverse.words[i] = i < 4 || i >= 4 * nr ? word : detail::inv_mix_column(word);
    }
    return inverse;
}

}  // namespace warpaes::device
