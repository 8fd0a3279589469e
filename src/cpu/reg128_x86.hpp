// One block in a register of an x86-64 CPU: the operations that kernels use on single blocks, in addition to the
// operations on vectors (simd_vector.hpp). reg128_arm.hpp contains the same functions for 64-bit Arm.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace warpaes::cpu {

using Reg128 = __m128i;

WARPAES_INLINE Reg128 load128(const std::uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
/// `p` must be aligned to 16 bytes.
WARPAES_INLINE Reg128 load_aligned128(const std::uint8_t* p) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(p));
}
WARPAES_INLINE void store128(std::uint8_t* p, Reg128 v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}

WARPAES_INLINE Reg128 zero128() {
    return _mm_setzero_si128();
}
/// Returns high * 2^64 + low as a little-endian number.
WARPAES_INLINE Reg128 make128(std::uint64_t high, std::uint64_t low) {
    return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
/// Returns `word` in the first four bytes, with zeros elsewhere.
WARPAES_INLINE Reg128 word128(std::uint32_t word) {
    return _mm_set_epi32(0, 0, 0, static_cast<int>(word));
}
WARPAES_INLINE Reg128 repeat128(std::uint32_t word) {
    return _mm_set1_epi32(static_cast<int>(word));
}
WARPAES_INLINE std::uint32_t first_word(Reg128 v) {
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(v));
}

WARPAES_INLINE Reg128 xor128(Reg128 a, Reg128 b) {
    return _mm_xor_si128(a, b);
}
/// Adds four 32-bit numbers.
WARPAES_INLINE Reg128 add_words(Reg128 a, Reg128 b) {
    return _mm_add_epi32(a, b);
}
WARPAES_INLINE Reg128 subtract_words(Reg128 a, Reg128 b) {
    return _mm_sub_epi32(a, b);
}
WARPAES_INLINE Reg128 without_first_byte(Reg128 v) {
    return _mm_andnot_si128(_mm_set_epi32(0, 0, 0, 0xff), v);
}
/// Returns all bytes except the first, followed by `byte`.
WARPAES_INLINE Reg128 shift_in_byte(Reg128 v, std::uint8_t byte) {
    return _mm_or_si128(_mm_srli_si128(v, 1), _mm_slli_si128(_mm_cvtsi32_si128(byte), 15));
}
/// Returns the bytes in reverse order.
WARPAES_INLINE Reg128 swap_block(Reg128 v) {
    return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
/// InvMixColumns; for files compiled for AES.
WARPAES_INLINE Reg128 inverse_mix_columns(Reg128 v) {
    return _mm_aesimc_si128(v);
}
/// Returns v * x in XTS's field (aes/xts.hpp), reduced by `polynomial`.
WARPAES_INLINE Reg128 times_x(Reg128 v, std::uint32_t polynomial) {
    // The top bit of each half, spread over the dword above it: all ones or zeros, masked to the value to add to that
    // dword.
    const __m128i carries = _mm_srai_epi32(_mm_shuffle_epi32(v, 0x13), 31);
    return _mm_xor_si128(_mm_add_epi64(v, v),
                         _mm_and_si128(carries, _mm_set_epi32(0, 1, 0, static_cast<int>(polynomial))));
}

/// Must be called before other threads may read data that a vector's `stream` has stored.
WARPAES_INLINE void end_streams() {
    _mm_sfence();
}

/// Overwrites all vector registers that exist without AVX, which may contain key material.
WARPAES_INLINE void forget_registers() {
    asm volatile(
        "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n"
        "pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n"
        "pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n"
        "pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15\n" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
              "xmm13", "xmm14", "xmm15");
}

}  // namespace warpaes::cpu
