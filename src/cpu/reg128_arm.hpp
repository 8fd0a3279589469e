// One block in a register of a 64-bit Arm CPU: the operations that kernels use on single blocks, in addition to the
// operations on vectors (simd_vector.hpp). reg128_x86.hpp contains the same functions for x86-64.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#if !defined(__AARCH64EL__)
#error "The kernels are for little-endian processors"
#endif

namespace warpaes::cpu {

using Reg128 = uint8x16_t;

WARPAES_INLINE Reg128 load128(const std::uint8_t* p) {
    return vld1q_u8(p);
}
/// `p` must be aligned to 16 bytes.
WARPAES_INLINE Reg128 load_aligned128(const std::uint8_t* p) {
    return vld1q_u8(p);
}
WARPAES_INLINE void store128(std::uint8_t* p, Reg128 v) {
    vst1q_u8(p, v);
}

WARPAES_INLINE Reg128 zero128() {
    return vdupq_n_u8(0);
}
/// Returns high * 2^64 + low as a little-endian number.
WARPAES_INLINE Reg128 make128(std::uint64_t high, std::uint64_t low) {
    return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}
/// Returns `word` in the first four bytes, with zeros elsewhere.
WARPAES_INLINE Reg128 word128(std::uint32_t word) {
    return make128(0, word);
}
WARPAES_INLINE Reg128 repeat128(std::uint32_t word) {
    return vreinterpretq_u8_u32(vdupq_n_u32(word));
}
WARPAES_INLINE std::uint32_t first_word(Reg128 v) {
    return vgetq_lane_u32(vreinterpretq_u32_u8(v), 0);
}

WARPAES_INLINE Reg128 xor128(Reg128 a, Reg128 b) {
    return veorq_u8(a, b);
}
/// Adds four 32-bit numbers.
WARPAES_INLINE Reg128 add_words(Reg128 a, Reg128 b) {
    return vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
WARPAES_INLINE Reg128 subtract_words(Reg128 a, Reg128 b) {
    return vreinterpretq_u8_u32(vsubq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
WARPAES_INLINE Reg128 without_first_byte(Reg128 v) {
    return vsetq_lane_u8(0, v, 0);
}
/// Returns all bytes except the first, followed by `byte`.
WARPAES_INLINE Reg128 shift_in_byte(Reg128 v, std::uint8_t byte) {
    return vextq_u8(v, vdupq_n_u8(byte), 1);
}
/// Returns the bytes in reverse order.
WARPAES_INLINE Reg128 swap_block(Reg128 v) {
    const Reg128 halves = vrev64q_u8(v);
    return vextq_u8(halves, halves, 8);
}
/// Applies InvMixColumns. Only files that are compiled for AES instructions may use this function.
WARPAES_INLINE Reg128 inverse_mix_columns(Reg128 v) {
    return vaesimcq_u8(v);
}
/// Returns v * x in XTS's field (aes/xts.hpp), reduced by `polynomial`.
WARPAES_INLINE Reg128 times_x(Reg128 v, std::uint32_t polynomial) {
    // The top bit of each half, spread over the other half: all ones or zeros, masked to the value to add to that half.
    const Reg128 tops = vreinterpretq_u8_s64(vshrq_n_s64(vreinterpretq_s64_u8(v), 63));
    const Reg128 doubled = vreinterpretq_u8_u64(vshlq_n_u64(vreinterpretq_u64_u8(v), 1));
    return veorq_u8(doubled, vandq_u8(vextq_u8(tops, tops, 8), make128(1, polynomial)));
}

/// Must be called before other threads may read data that a vector's `stream` has stored. Has no effect on Arm, where
/// `stream` is an ordinary store.
WARPAES_INLINE void end_streams() {}

/// Overwrites all vector registers, which may contain key material.
WARPAES_INLINE void forget_registers() {
    asm volatile(
        "movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n movi v4.2d, #0\n movi v5.2d, #0\n"
        "movi v6.2d, #0\n movi v7.2d, #0\n movi v8.2d, #0\n movi v9.2d, #0\n movi v10.2d, #0\n movi v11.2d, #0\n"
        "movi v12.2d, #0\n movi v13.2d, #0\n movi v14.2d, #0\n movi v15.2d, #0\n movi v16.2d, #0\n movi v17.2d, #0\n"
        "movi v18.2d, #0\n movi v19.2d, #0\n movi v20.2d, #0\n movi v21.2d, #0\n movi v22.2d, #0\n movi v23.2d, #0\n"
        "movi v24.2d, #0\n movi v25.2d, #0\n movi v26.2d, #0\n movi v27.2d, #0\n movi v28.2d, #0\n movi v29.2d, #0\n"
        "movi v30.2d, #0\n movi v31.2d, #0\n" ::
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
              "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
              "v31");
}

}  // namespace warpaes::cpu
