// Hash functions for one block, built from AES, as used in secure computation. Part of <warpaes/device.cuh>, whose
// rules apply.
//
// With a key that is fixed and public for the whole protocol, AES is modelled as a random permutation P. The names are
// from C. Guo, J. Katz, X. Wang and Y. Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers",
// IEEE S&P 2020. That paper specifies which property a protocol requires; the functions are not interchangeable.
// Half-gates garbling and correlated oblivious transfer require tweakable circular correlation robustness (hash_tccr).
// In these protocols, x is secret, and the tweak is public and must never repeat.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/prg.cuh>

namespace warpaes::device {

/// The linear orthomorphism S(l || r) = (l ^ r) || l, where r is bytes 0 to 7 and l is bytes 8 to 15: in a 128-bit
/// little-endian number, l is the upper half.
__device__ __forceinline__ uint4 orthomorphism(uint4 x) {
    return make_uint4(x.z, x.w, x.x ^ x.z, x.y ^ x.w);
}

/// Correlation robust: P(x) ^ x. Costs one call of encrypt_block.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 hash_cr(const tables<Count>& t, const key_schedule<KeyBits>& keys, uint4 x) {
    return detail::add(encrypt_block(t, keys, x), x);
}

/// Circular correlation robust: P(S(x)) ^ S(x). Costs one call of encrypt_block.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 hash_ccr(const tables<Count>& t, const key_schedule<KeyBits>& keys, uint4 x) {
    return hash_cr(t, keys, orthomorphism(x));
}

/// Tweakable circular correlation robust: P(P(x) ^ tweak) ^ P(x). Costs two calls of encrypt_block.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 hash_tccr(const tables<Count>& t, const key_schedule<KeyBits>& keys, uint4 x,
                                           uint4 tweak) {
    const uint4 inner = encrypt_block(t, keys, x);
    return detail::add(encrypt_block(t, keys, detail::add(inner, tweak)), inner);
}

/// The compression function of Matyas, Meyer and Oseas (ISO/IEC 10118-2): E_key(block) ^ block, where each block has
/// its own key, such as a seed or the previous value of a chain. Costs as much as counter_prg for one block, including
/// key expansion.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 matyas_meyer_oseas(const tables<Count>& t, const cipher_key<KeyBits>& key,
                                                    uint4 block) {
    uint4 out[1];
    counter_prg(t, key, block, out);
    return detail::add(out[0], block);
}

}  // namespace warpaes::device
