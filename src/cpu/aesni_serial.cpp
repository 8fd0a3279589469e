// One message alone, block after block (update.hpp). Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/update_kernels.hpp"

namespace warpaes::cpu::serial {

namespace {

using Bytes = std::uint8_t;

WARPAES_INLINE __m128i load(const Bytes* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
WARPAES_INLINE void store(Bytes* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
WARPAES_INLINE __m128i key(const Bytes* keys, int round) {
    return load(keys + 16 * round);
}

/// What a key is made of has been in them.
WARPAES_INLINE void forget_registers() {
    asm volatile(
        "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n"
        "pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n"
        "pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n"
        "pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15\n" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
}

template <int Rounds>
void expand(const Bytes* from, Bytes* keys) {
    const Bytes* in[1] = {from};
    Bytes* out[1] = {keys};
    expand_vector<Xmm>(4 * (Rounds - 6), in, out);
    forget_registers();
}

/// The schedule is turned around where it lies.
template <int Rounds>
void expand_inverse(const Bytes* from, Bytes* keys) {
    const Bytes* in[1] = {from};
    Bytes* out[1] = {keys};
    expand_vector<Xmm>(4 * (Rounds - 6), in, out);
    const __m128i first = key(keys, 0), last = key(keys, Rounds);
    store(keys, last);
    store(keys + 16 * Rounds, first);
    WARPAES_UNROLL
    for (int low = 1; low <= Rounds / 2; ++low) {
        const int high = Rounds - low;
        const __m128i a = _mm_aesimc_si128(key(keys, low)), b = _mm_aesimc_si128(key(keys, high));
        store(keys + 16 * low, b);
        store(keys + 16 * high, a);
    }
    forget_registers();
}

template <int Rounds>
void make_few_powers(const Bytes* keys, Bytes* powers) {
    const Bytes* in[1] = {keys};
    Bytes* out[1] = {powers + 16 * (update_powers - few_powers)};
    powers_of_vector<Xmm>(Rounds, few_powers, in, out);
    forget_registers();
}

template <int Rounds>
void gcm(const GcmUpdate& u) {
    if (u.encrypt) return gcm_update_of<Xmm, Rounds, true, few_powers>(u);
    gcm_update_of<Xmm, Rounds, false, few_powers>(u);
}

/// N blocks through the cipher; the addition of the first round key is the caller's, and `last` is the last one with
/// what is to be added to the result.
template <int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void rounds(__m128i (&s)[N], const Bytes* keys, const __m128i (&last)[N]) {
    middle_rounds<Xmm, Inverse, 1, Rounds>(s, keys);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) s[i] = last_round<Xmm, Inverse>(s[i], last[i]);
}

template <int Rounds>
WARPAES_INLINE __m128i encrypt(__m128i state_and_key, const Bytes* keys, __m128i last) {
    __m128i s[1] = {state_and_key};
    const __m128i l[1] = {last};
    rounds<Rounds, false>(s, keys, l);
    return s[0];
}

template <int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void ecb_blocks(const Bytes* keys, const Bytes* input, Bytes* output) {
    __m128i s[N], last[N];
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        s[i] = _mm_xor_si128(load(input + 16 * i), k0);
        last[i] = kn;
    }
    rounds<Rounds, Inverse>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store(output + 16 * i, s[i]);
}

template <int Rounds, bool Inverse>
void ecb(const Bytes* keys, const Bytes* input, Bytes* output, std::size_t blocks) {
    switch (blocks) {
    case 1:
        return ecb_blocks<Rounds, Inverse, 1>(keys, input, output);
    case 2:
        return ecb_blocks<Rounds, Inverse, 2>(keys, input, output);
    case 3:
        return ecb_blocks<Rounds, Inverse, 3>(keys, input, output);
    default:
        return ecb_blocks<Rounds, Inverse, 4>(keys, input, output);
    }
}

template <int Rounds, std::size_t N>
WARPAES_INLINE void ctr_blocks(const Bytes* keys, std::uint64_t high, std::uint64_t low, const Bytes* input,
                               Bytes* output) {
    __m128i s[N], last[N];
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        const std::uint64_t at = low + i;
        const __m128i counter = _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(at)),
                                               static_cast<long long>(__builtin_bswap64(high + (at < low ? 1 : 0))));
        s[i] = _mm_xor_si128(counter, k0);
        last[i] = _mm_xor_si128(load(input + 16 * i), kn);
    }
    rounds<Rounds, false>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store(output + 16 * i, s[i]);
}

template <int Rounds>
void ctr(const Bytes* keys, Bytes* counter, const Bytes* input, Bytes* output, std::size_t blocks) {
    const std::uint64_t high = load_big_endian(counter), low = load_big_endian(counter + 8);
    switch (blocks) {
    case 1:
        ctr_blocks<Rounds, 1>(keys, high, low, input, output);
        break;
    case 2:
        ctr_blocks<Rounds, 2>(keys, high, low, input, output);
        break;
    case 3:
        ctr_blocks<Rounds, 3>(keys, high, low, input, output);
        break;
    default:
        ctr_blocks<Rounds, 4>(keys, high, low, input, output);
    }
    const std::uint64_t next = low + blocks;
    store(counter, _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(next)),
                                  static_cast<long long>(__builtin_bswap64(high + (next < low ? 1 : 0)))));
}

template <int Rounds, bool Inverse, std::size_t N>
WARPAES_INLINE void xts_blocks(const Bytes* keys, __m128i tweak, const Bytes* input, Bytes* output) {
    __m128i s[N], last[N];
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        s[i] = _mm_xor_si128(_mm_xor_si128(load(input + 16 * i), tweak), k0);
        last[i] = _mm_xor_si128(kn, tweak);
        tweak = next_tweak(tweak);
    }
    rounds<Rounds, Inverse>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store(output + 16 * i, s[i]);
}

template <int Rounds, bool Inverse>
void xts(const Bytes* keys, const Bytes* tweak_keys, const Bytes* tweak, const Bytes* input, Bytes* output,
         std::size_t blocks) {
    const __m128i t =
        encrypt<Rounds>(_mm_xor_si128(load(tweak), key(tweak_keys, 0)), tweak_keys, key(tweak_keys, Rounds));
    switch (blocks) {
    case 1:
        return xts_blocks<Rounds, Inverse, 1>(keys, t, input, output);
    case 2:
        return xts_blocks<Rounds, Inverse, 2>(keys, t, input, output);
    case 3:
        return xts_blocks<Rounds, Inverse, 3>(keys, t, input, output);
    default:
        return xts_blocks<Rounds, Inverse, 4>(keys, t, input, output);
    }
}

// In a chain the last round key, what is added to the result, and the first round key of the next block are added at
// once where they may be: a chain waits for nothing but the rounds.

/// The state has the first round key and the block of the text added to it already.
template <int Rounds, bool Stores>
WARPAES_INLINE void chained(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    if (blocks == 0) return;
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    __m128i s = _mm_xor_si128(load(chain), _mm_xor_si128(load(input), k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        const __m128i next = _mm_xor_si128(load(input + 16 * i + 16), k0);
        s = encrypt<Rounds>(s, keys, _mm_xor_si128(next, kn));
        if constexpr (Stores) store(output + 16 * i, _mm_xor_si128(s, next));
    }
    s = encrypt<Rounds>(s, keys, kn);
    if constexpr (Stores) store(output + 16 * (blocks - 1), s);
    store(chain, s);
}

template <int Rounds>
void cbc(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    chained<Rounds, true>(keys, chain, input, output, blocks);
}

template <int Rounds>
void mac(const Bytes* keys, Bytes* chain, const Bytes* input, std::size_t blocks) {
    chained<Rounds, false>(keys, chain, input, nullptr, blocks);
}

template <int Rounds, std::size_t N>
WARPAES_INLINE void cbc_inverse_blocks(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output) {
    __m128i s[N], last[N], before = load(chain);
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        const __m128i block = load(input + 16 * i);
        s[i] = _mm_xor_si128(block, k0);
        last[i] = _mm_xor_si128(before, kn);
        before = block;
    }
    rounds<Rounds, true>(s, keys, last);
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) store(output + 16 * i, s[i]);
    store(chain, before);
}

template <int Rounds>
void cbc_inverse(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    switch (blocks) {
    case 1:
        return cbc_inverse_blocks<Rounds, 1>(keys, chain, input, output);
    case 2:
        return cbc_inverse_blocks<Rounds, 2>(keys, chain, input, output);
    case 3:
        return cbc_inverse_blocks<Rounds, 3>(keys, chain, input, output);
    default:
        return cbc_inverse_blocks<Rounds, 4>(keys, chain, input, output);
    }
}

template <int Rounds>
void cfb(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    __m128i s = load(chain);
    for (std::size_t i = 0; i < blocks; ++i) {
        s = encrypt<Rounds>(_mm_xor_si128(s, k0), keys, _mm_xor_si128(load(input + 16 * i), kn));
        store(output + 16 * i, s);
    }
    store(chain, s);
}

template <int Rounds>
void ofb(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t blocks) {
    if (blocks == 0) return;
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds), both = _mm_xor_si128(k0, kn);
    // The state stays with the first round key added to it, but for the last block.
    __m128i s = _mm_xor_si128(load(chain), k0);
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        s = encrypt<Rounds>(s, keys, both);
        store(output + 16 * i, _mm_xor_si128(load(input + 16 * i), _mm_xor_si128(s, k0)));
    }
    s = encrypt<Rounds>(s, keys, kn);
    store(output + 16 * (blocks - 1), _mm_xor_si128(load(input + 16 * (blocks - 1)), s));
    store(chain, s);
}

WARPAES_INLINE __m128i counter_block(std::uint64_t flags_and_nonce, std::uint64_t number) {
    return _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(number)), static_cast<long long>(flags_and_nonce));
}

/// The MAC of a block runs beside the key stream of the next one. Encryption knows the next block of the text, and adds
/// it with the last round key.
template <int Rounds>
void ccm_encrypt(const Bytes* keys, Bytes* counter, Bytes* chain, const Bytes* input, Bytes* output,
                 std::size_t blocks) {
    if (blocks == 0) return;
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds), both_keys = _mm_xor_si128(k0, kn);
    const std::uint64_t upper = load_little_endian(counter);
    std::uint64_t number = load_big_endian(counter + 8);
    __m128i text = load(input), s = _mm_xor_si128(load(chain), _mm_xor_si128(text, k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i, ++number) {
        const __m128i next = load(input + 16 * i + 16);
        __m128i both[2] = {s, _mm_xor_si128(counter_block(upper, number), k0)};
        const __m128i last[2] = {_mm_xor_si128(next, both_keys), _mm_xor_si128(text, kn)};
        rounds<Rounds, false>(both, keys, last);
        s = both[0];
        store(output + 16 * i, both[1]);
        text = next;
    }
    __m128i both[2] = {s, _mm_xor_si128(counter_block(upper, number), k0)};
    const __m128i last[2] = {kn, _mm_xor_si128(text, kn)};
    rounds<Rounds, false>(both, keys, last);
    store(output + 16 * (blocks - 1), both[1]);
    store(chain, both[0]);
    store(counter, counter_block(upper, number + 1));
}

/// The plaintext of a block is that of the key stream two steps before, so that the chain waits for nothing else.
template <int Rounds>
void ccm_decrypt(const Bytes* keys, Bytes* counter, Bytes* chain, const Bytes* input, Bytes* output,
                 std::size_t blocks) {
    if (blocks == 0) return;
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds), both_keys = _mm_xor_si128(k0, kn);
    const std::uint64_t upper = load_little_endian(counter);
    std::uint64_t number = load_big_endian(counter + 8);
    // Up to two blocks of key stream more than there are blocks are computed and dropped.
    __m128i streams[2] = {_mm_xor_si128(counter_block(upper, number), k0),
                          _mm_xor_si128(counter_block(upper, number + 1), k0)};
    const __m128i plain[2] = {kn, kn};
    rounds<Rounds, false>(streams, keys, plain);
    __m128i text = _mm_xor_si128(load(input), streams[0]), ahead = streams[1];
    __m128i s = _mm_xor_si128(load(chain), _mm_xor_si128(text, k0));
    for (std::size_t i = 0; i + 1 < blocks; ++i) {
        const __m128i next = _mm_xor_si128(load(input + 16 * i + 16), ahead);
        store(output + 16 * i, text);
        __m128i both[2] = {s, _mm_xor_si128(counter_block(upper, number + i + 2), k0)};
        const __m128i last[2] = {_mm_xor_si128(next, both_keys), kn};
        rounds<Rounds, false>(both, keys, last);
        s = both[0];
        ahead = both[1];
        text = next;
    }
    store(output + 16 * (blocks - 1), text);
    store(chain, encrypt<Rounds>(s, keys, kn));
    store(counter, counter_block(upper, number + blocks));
}

template <int Rounds>
void cfb8(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t bytes) {
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    __m128i window = load(chain);
    for (std::size_t i = 0; i < bytes; ++i) {
        const __m128i s = encrypt<Rounds>(_mm_xor_si128(window, k0), keys, kn);
        const auto byte = static_cast<Bytes>(input[i] ^ _mm_cvtsi128_si32(s));
        output[i] = byte;
        window = _mm_or_si128(_mm_srli_si128(window, 1), _mm_slli_si128(_mm_cvtsi32_si128(byte), 15));
    }
    store(chain, window);
}

template <int Rounds>
void cfb1(const Bytes* keys, Bytes* chain, const Bytes* input, Bytes* output, std::size_t bits, bool encrypting) {
    const __m128i k0 = key(keys, 0), kn = key(keys, Rounds);
    std::uint64_t high = load_big_endian(chain), low = load_big_endian(chain + 8);
    for (std::size_t i = 0; i < bits; ++i) {
        const __m128i window = _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(low)),
                                              static_cast<long long>(__builtin_bswap64(high)));
        const __m128i s = encrypt<Rounds>(_mm_xor_si128(window, k0), keys, kn);
        const unsigned shift = 7 - static_cast<unsigned>(i % 8);
        const unsigned in = (input[i / 8] >> shift) & 1u;
        const unsigned out = in ^ ((static_cast<unsigned>(_mm_cvtsi128_si32(s)) >> 7) & 1u);
        output[i / 8] = static_cast<Bytes>((output[i / 8] & ~(1u << shift)) | (out << shift));
        high = (high << 1) | (low >> 63);
        low = (low << 1) | (encrypting ? out : in);
    }
    store(chain, _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(low)),
                                static_cast<long long>(__builtin_bswap64(high))));
}

template <int Rounds>
constexpr Kernels kernels_of{.expand = expand<Rounds>,
                             .expand_inverse = expand_inverse<Rounds>,
                             .make_few_powers = make_few_powers<Rounds>,
                             .gcm = gcm<Rounds>,
                             .hash = hash_update<Xmm, few_powers>,
                             .ecb = ecb<Rounds, false>,
                             .ecb_inverse = ecb<Rounds, true>,
                             .ctr = ctr<Rounds>,
                             .xts = xts<Rounds, false>,
                             .xts_inverse = xts<Rounds, true>,
                             .cbc_inverse = cbc_inverse<Rounds>,
                             .cbc = cbc<Rounds>,
                             .cfb = cfb<Rounds>,
                             .ofb = ofb<Rounds>,
                             .mac = mac<Rounds>,
                             .ccm_encrypt = ccm_encrypt<Rounds>,
                             .ccm_decrypt = ccm_decrypt<Rounds>,
                             .cfb8 = cfb8<Rounds>,
                             .cfb1 = cfb1<Rounds>};

}  // namespace

const Kernels& kernels(int rounds) {
    switch (rounds) {
    case 10:
        return kernels_of<10>;
    case 12:
        return kernels_of<12>;
    default:
        return kernels_of<14>;
    }
}

}  // namespace warpaes::cpu::serial
