// Processes a single message block after block (update.hpp), with vectors of one block.
#pragma once

#include "cpu/key_kernels.hpp"
#include "cpu/update_kernels.hpp"

namespace warpaes::cpu::serial {

using Bytes = std::uint8_t;

WARPAES_INLINE Reg128 key(const Bytes* keys, int round) {
    return load128(keys + 16 * round);
}

template <class V, int Rounds>
void expand(const Bytes* from, Bytes* keys) {
    const Bytes* in[1] = {from};
    Bytes* out[1] = {keys};
    expand_vector<V>(4 * (Rounds - 6), in, out);
    forget_registers();
}

/// Computes the round keys of the equivalent inverse cipher from the key.
template <class V, int Rounds>
void expand_inverse(const Bytes* from, Bytes* keys) {
    const Bytes* in[1] = {from};
    Bytes* out[1] = {keys};
    expand_vector<V>(4 * (Rounds - 6), in, out);
    const Reg128 first = key(keys, 0), last = key(keys, Rounds);
    store128(keys, last);
    store128(keys + 16 * Rounds, first);
    WARPAES_UNROLL
    for (int low = 1; low <= Rounds / 2; ++low) {
        const int high = Rounds - low;
        const Reg128 a = inverse_mix_columns(key(keys, low)), b = inverse_mix_columns(key(keys, high));
        store128(keys + 16 * low, b);
        store128(keys + 16 * high, a);
    }
    forget_registers();
}

template <class V, int Rounds>
void make_few_powers(const Bytes* keys, Bytes* powers) {
    const Bytes* in[1] = {keys};
    Bytes* out[1] = {powers + 16 * (update_powers - few_powers)};
    powers_of_vector<V>(Rounds, few_powers, in, out);
    forget_registers();
}

template <class V, int Rounds>
void gcm(const GcmUpdate& u) {
    if (u.encrypt) return gcm_update_of<V, Rounds, true, few_powers>(u);
    gcm_update_of<V, Rounds, false, few_powers>(u);
}

/// Returns the block whose big-endian value is high * 2^64 + low.
WARPAES_INLINE Reg128 big_endian(std::uint64_t high, std::uint64_t low) {
    return make128(__builtin_bswap64(low), __builtin_bswap64(high));
}

/// Runs all rounds on N blocks. The caller has already added the first round key; `last` is the last round key plus the
/// value to be added to the result.
template <class V, int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void rounds(typename V::State (&s)[N], const Bytes* keys, const Reg128 (&last)[N]) {
    middle_rounds<V, Inverse, 1, Rounds>(s, keys);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = last_round<V, Inverse>(s[i], last[i]);
}

template <class V, int Rounds>
WARPAES_INLINE typename V::State encrypt(typename V::State state_and_key, const Bytes* keys, Reg128 last) {
    typename V::State s[1] = {state_and_key};
    const Reg128 l[1] = {last};
    rounds<V, Rounds, false>(s, keys, l);
    return s[0];
}

template <class V, int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void ecb_blocks(const Bytes* keys, const Bytes* input, Bytes* output) {
    typename V::State s[N];
    Reg128 last[N];
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        s[i] = V::sum(load128(input + 16 * i), k0);
        last[i] = kn;
    }
    rounds<V, Rounds, Inverse>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store128(output + 16 * i, V::value(s[i]));
}

template <class V, int Rounds, bool Inverse>
void ecb(const Bytes* keys, const Bytes* input, Bytes* output, std::size_t blocks) {
    switch (blocks) {
    case 1:
        return ecb_blocks<V, Rounds, Inverse, 1>(keys, input, output);
    case 2:
        return ecb_blocks<V, Rounds, Inverse, 2>(keys, input, output);
    case 3:
        return ecb_blocks<V, Rounds, Inverse, 3>(keys, input, output);
    default:
        return ecb_blocks<V, Rounds, Inverse, 4>(keys, input, output);
    }
}

template <class V, int Rounds, std::size_t N>
WARPAES_INLINE void ctr_blocks(const Bytes* keys, std::uint64_t high, std::uint64_t low, const Bytes* input,
                               Bytes* output) {
    typename V::State s[N];
    Reg128 last[N];
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        const std::uint64_t at = low + i;
        const Reg128 counter = big_endian(high + (at < low ? 1 : 0), at);
        s[i] = V::sum(counter, k0);
        last[i] = xor128(load128(input + 16 * i), kn);
    }
    rounds<V, Rounds, false>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store128(output + 16 * i, V::value(s[i]));
}

template <class V, int Rounds>
void ctr(const Bytes* keys, Bytes* counter, const Bytes* input, Bytes* output, std::size_t blocks) {
    const std::uint64_t high = load_big_endian(counter), low = load_big_endian(counter + 8);
    switch (blocks) {
    case 1:
        ctr_blocks<V, Rounds, 1>(keys, high, low, input, output);
        break;
    case 2:
        ctr_blocks<V, Rounds, 2>(keys, high, low, input, output);
        break;
    case 3:
        ctr_blocks<V, Rounds, 3>(keys, high, low, input, output);
        break;
    default:
        ctr_blocks<V, Rounds, 4>(keys, high, low, input, output);
    }
    const std::uint64_t next = low + blocks;
    store128(counter, big_endian(high + (next < low ? 1 : 0), next));
}

template <class V, int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void xts_blocks(const Bytes* keys, Reg128 tweak, const Bytes* input, Bytes* output) {
    typename V::State s[N];
    Reg128 last[N];
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        s[i] = V::sum(xor128(load128(input + 16 * i), tweak), k0);
        last[i] = xor128(kn, tweak);
        tweak = next_tweak(tweak);
    }
    rounds<V, Rounds, Inverse>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store128(output + 16 * i, V::value(s[i]));
}

template <class V, int Rounds, bool Inverse>
void xts(const Bytes* keys, const Bytes* tweak_keys, const Bytes* tweak, const Bytes* input, Bytes* output,
         std::size_t blocks) {
    const Reg128 t =
        V::value(encrypt<V, Rounds>(V::sum(load128(tweak), key(tweak_keys, 0)), tweak_keys, key(tweak_keys, Rounds)));
    switch (blocks) {
    case 1:
        return xts_blocks<V, Rounds, Inverse, 1>(keys, t, input, output);
    case 2:
        return xts_blocks<V, Rounds, Inverse, 2>(keys, t, input, output);
    case 3:
        return xts_blocks<V, Rounds, Inverse, 3>(keys, t, input, output);
    default:
        return xts_blocks<V, Rounds, Inverse, 4>(keys, t, input, output);
    }
}

// In a chain, the last round key, the next block of text and the first round key of the next block are combined in
// advance if possible, so that only the rounds are on the critical path.

/// CBC encryption, or CBC-MAC if `Stores` is false. The state already includes the first round key and the next block
/// of text.
template <class V, int Rounds, bool Stores>
WARPAES_INLINE void chained(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    if (blocks == 0) return;
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    auto s = V::sum(load128(chain), xor128(load128(input), k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        const Reg128 next = xor128(load128(input + 16 * i + 16), k0);
        s = encrypt<V, Rounds>(s, keys, xor128(next, kn));
        if constexpr (Stores) store128(output + 16 * i, xor128(V::value(s), next));
    }
    s = encrypt<V, Rounds>(s, keys, kn);
    if constexpr (Stores) store128(output + 16 * (blocks - 1), V::value(s));
    store128(chain, V::value(s));
}

template <class V, int Rounds>
void cbc(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    chained<V, Rounds, true>(keys, chain, input, output, blocks);
}

template <class V, int Rounds>
void mac(const Bytes* keys, Bytes* chain, const Bytes* input, std::size_t blocks) {
    chained<V, Rounds, false>(keys, chain, input, nullptr, blocks);
}

template <class V, int Rounds, std::size_t N>
WARPAES_INLINE void cbc_inverse_blocks(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output) {
    typename V::State s[N];
    Reg128 last[N], before = load128(chain);
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        const Reg128 block = load128(input + 16 * i);
        s[i] = V::sum(block, k0);
        last[i] = xor128(before, kn);
        before = block;
    }
    rounds<V, Rounds, true>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store128(output + 16 * i, V::value(s[i]));
    store128(chain, before);
}

template <class V, int Rounds>
void cbc_inverse(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    switch (blocks) {
    case 1:
        return cbc_inverse_blocks<V, Rounds, 1>(keys, chain, input, output);
    case 2:
        return cbc_inverse_blocks<V, Rounds, 2>(keys, chain, input, output);
    case 3:
        return cbc_inverse_blocks<V, Rounds, 3>(keys, chain, input, output);
    default:
        return cbc_inverse_blocks<V, Rounds, 4>(keys, chain, input, output);
    }
}

template <class V, int Rounds>
void cfb(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    auto s = V::state(load128(chain));
    for (std::size_t i = 0; i < blocks; ++i) {
        s = encrypt<V, Rounds>(V::add(s, k0), keys, xor128(load128(input + 16 * i), kn));
        store128(output + 16 * i, V::value(s));
    }
    store128(chain, V::value(s));
}

template <class V, int Rounds>
void ofb(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    if (blocks == 0) return;
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds), both = xor128(k0, kn);
    // The state includes the first round key, except after the last block.
    auto s = V::sum(load128(chain), k0);
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        s = encrypt<V, Rounds>(s, keys, both);
        store128(output + 16 * i, xor128(load128(input + 16 * i), xor128(V::value(s), k0)));
    }
    s = encrypt<V, Rounds>(s, keys, kn);
    store128(output + 16 * (blocks - 1), xor128(load128(input + 16 * (blocks - 1)), V::value(s)));
    store128(chain, V::value(s));
}

WARPAES_INLINE Reg128 counter_block(std::uint64_t flags_and_nonce, std::uint64_t number) {
    return make128(__builtin_bswap64(number), flags_and_nonce);
}

/// The MAC of a block runs in parallel with the key stream of the same block. In encryption, the next block of text is
/// known in advance and is added together with the last round key.
template <class V, int Rounds>
void ccm_encrypt(const Bytes* keys, Bytes* counter, Bytes* chain, const Bytes* input, Bytes* output,
                 std::size_t blocks) {
    if (blocks == 0) return;
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds), both_keys = xor128(k0, kn);
    const std::uint64_t upper = load_little_endian(counter);
    std::uint64_t number = load_big_endian(counter + 8);
    Reg128 text = load128(input);
    auto s = V::sum(load128(chain), xor128(text, k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i, ++number) {
        const Reg128 next = load128(input + 16 * i + 16);
        typename V::State both[2] = {s, V::sum(counter_block(upper, number), k0)};
        const Reg128 last[2] = {xor128(next, both_keys), xor128(text, kn)};
        rounds<V, Rounds, false>(both, keys, last);
        s = both[0];
        store128(output + 16 * i, V::value(both[1]));
        text = next;
    }
    typename V::State both[2] = {s, V::sum(counter_block(upper, number), k0)};
    const Reg128 last[2] = {kn, xor128(text, kn)};
    rounds<V, Rounds, false>(both, keys, last);
    store128(output + 16 * (blocks - 1), V::value(both[1]));
    store128(chain, V::value(both[0]));
    store128(counter, counter_block(upper, number + 1));
}

/// The key stream is computed two blocks ahead of the MAC, so that the chain of the MAC does not wait for the key
/// stream.
template <class V, int Rounds>
void ccm_decrypt(const Bytes* keys, Bytes* counter, Bytes* chain, const Bytes* input, Bytes* output,
                 std::size_t blocks) {
    if (blocks == 0) return;
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds), both_keys = xor128(k0, kn);
    const std::uint64_t upper = load_little_endian(counter);
    std::uint64_t number = load_big_endian(counter + 8);
    // One more block of key stream is computed than needed, and discarded.
    typename V::State streams[2] = {V::sum(counter_block(upper, number), k0),
                                    V::sum(counter_block(upper, number + 1), k0)};
    const Reg128 plain[2] = {kn, kn};
    rounds<V, Rounds, false>(streams, keys, plain);
    Reg128 text = xor128(load128(input), V::value(streams[0])), ahead = V::value(streams[1]);
    auto s = V::sum(load128(chain), xor128(text, k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        const Reg128 next = xor128(load128(input + 16 * i + 16), ahead);
        store128(output + 16 * i, text);
        typename V::State both[2] = {s, V::sum(counter_block(upper, number + i + 2), k0)};
        const Reg128 last[2] = {xor128(next, both_keys), kn};
        rounds<V, Rounds, false>(both, keys, last);
        s = both[0];
        ahead = V::value(both[1]);
        text = next;
    }
    store128(output + 16 * (blocks - 1), text);
    store128(chain, V::value(encrypt<V, Rounds>(s, keys, kn)));
    store128(counter, counter_block(upper, number + blocks));
}

template <class V, int Rounds>
void cfb8(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t bytes) {
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    Reg128 window = load128(chain);
    for (std::size_t i = 0; i < bytes; ++i) {
        const Reg128 s = V::value(encrypt<V, Rounds>(V::sum(window, k0), keys, kn));
        const auto byte = static_cast<Bytes>(input[i] ^ first_word(s));
        output[i] = byte;
        window = shift_in_byte(window, byte);
    }
    store128(chain, window);
}

template <class V, int Rounds>
void cfb1(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t bits, bool encrypting) {
    const Reg128 k0 = key(keys, 0), kn = key(keys, Rounds);
    std::uint64_t high = load_big_endian(chain), low = load_big_endian(chain + 8);
    for (std::size_t i = 0; i < bits; ++i) {
        const Reg128 window = big_endian(high, low);
        const Reg128 s = V::value(encrypt<V, Rounds>(V::sum(window, k0), keys, kn));
        const unsigned shift = 7 - static_cast<unsigned>(i % 8);
        const unsigned in = (input[i / 8] >> shift) & 1u;
        const unsigned out = in ^ ((first_word(s) >> 7) & 1u);
        output[i / 8] = static_cast<Bytes>((output[i / 8] & ~(1u << shift)) | (out << shift));
        high = (high << 1) | (low >> 63);
        low = (low << 1) | (encrypting ? out : in);
    }
    store128(chain, big_endian(high, low));
}

template <class V, int Rounds>
constexpr Kernels kernels_of{.expand = expand<V, Rounds>,
                             .expand_inverse = expand_inverse<V, Rounds>,
                             .make_few_powers = make_few_powers<V, Rounds>,
                             .gcm = gcm<V, Rounds>,
                             .hash = hash_update<V, few_powers>,
                             .ecb = ecb<V, Rounds, false>,
                             .ecb_inverse = ecb<V, Rounds, true>,
                             .ctr = ctr<V, Rounds>,
                             .xts = xts<V, Rounds, false>,
                             .xts_inverse = xts<V, Rounds, true>,
                             .cbc_inverse = cbc_inverse<V, Rounds>,
                             .cbc = cbc<V, Rounds>,
                             .cfb = cfb<V, Rounds>,
                             .ofb = ofb<V, Rounds>,
                             .mac = mac<V, Rounds>,
                             .ccm_encrypt = ccm_encrypt<V, Rounds>,
                             .ccm_decrypt = ccm_decrypt<V, Rounds>,
                             .cfb8 = cfb8<V, Rounds>,
                             .cfb1 = cfb1<V, Rounds>};

template <class V>
const Kernels& kernels_for(int rounds) {
    switch (rounds) {
    case 10:
        return kernels_of<V, 10>;
    case 12:
        return kernels_of<V, 12>;
    default:
        return kernels_of<V, 14>;
    }
}

}  // namespace warpaes::cpu::serial
