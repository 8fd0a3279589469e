// The S-box of AES (FIPS 197, 5.1.1) as a circuit of 63 three-input gates on bit planes: no table, no branch, so
// neither time nor addresses depend on what is substituted. Part of <warpaes/device.cuh>, whose rules hold.
//
// A gate's constant is its truth table in the order of PTX `lop3`: bit (4a + 2b + c). The circuit was found by plateau
// search with resubstitution from the 113-gate circuit of Boyar, Peralta and Calik.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// Before a loop that a device unrolls, or one that it must not; nothing to a host's compiler, which knows no such
// pragma.
#if defined(__CUDA_ARCH__)
#define WARPAES_UNROLL _Pragma("unroll")
#define WARPAES_KEEP_ROLLED _Pragma("unroll 1")
#else
#define WARPAES_UNROLL
#define WARPAES_KEEP_ROLLED
#endif

namespace warpaes::device {

namespace detail {

/// One LOP3 on a device.
template <unsigned Table>
__host__ __device__ __forceinline__ std::uint32_t lut3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
    std::uint32_t out;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out) : "r"(a), "r"(b), "r"(c), "n"(Table));
    return out;
#else
    std::uint32_t out = 0;
    if constexpr ((Table & 0x01) != 0) out |= ~a & ~b & ~c;
    if constexpr ((Table & 0x02) != 0) out |= ~a & ~b & c;
    if constexpr ((Table & 0x04) != 0) out |= ~a & b & ~c;
    if constexpr ((Table & 0x08) != 0) out |= ~a & b & c;
    if constexpr ((Table & 0x10) != 0) out |= a & ~b & ~c;
    if constexpr ((Table & 0x20) != 0) out |= a & ~b & c;
    if constexpr ((Table & 0x40) != 0) out |= a & b & ~c;
    if constexpr ((Table & 0x80) != 0) out |= a & b & c;
    return out;
#endif
}

}  // namespace detail

/// x := S(x) ^ 0x63 for 32 bytes at once, plane x[i] holding bit i of each. The constant 0x63 is left to the caller,
/// who can fold it into a round key. 63 instructions.
__host__ __device__ __forceinline__ void sub_planes_without_constant(std::uint32_t* x) {
    const std::uint32_t t1 = detail::lut3<0x3c>(x[1], x[7], x[7]);
    const std::uint32_t t2 = detail::lut3<0x3c>(x[2], x[4], x[4]);
    const std::uint32_t t3 = detail::lut3<0x3c>(x[7], x[2], x[2]);
    const std::uint32_t t4 = detail::lut3<0x96>(x[4], x[5], t3);
    const std::uint32_t t5 = detail::lut3<0x96>(x[3], x[4], t1);
    const std::uint32_t t6 = detail::lut3<0x96>(x[5], x[6], t5);
    const std::uint32_t t7 = detail::lut3<0x3c>(t4, t6, t6);
    const std::uint32_t t8 = detail::lut3<0x28>(t3, t2, t7);
    const std::uint32_t t9 = detail::lut3<0x56>(t2, t4, t8);
    const std::uint32_t t10 = detail::lut3<0x3c>(t1, t2, t2);
    const std::uint32_t t11 = detail::lut3<0x3c>(x[0], t5, t5);
    const std::uint32_t t12 = detail::lut3<0x6a>(t3, t6, t8);
    const std::uint32_t t13 = detail::lut3<0x6a>(t10, t11, t12);
    const std::uint32_t t14 = detail::lut3<0x3c>(t6, t11, t11);
    const std::uint32_t t15 = detail::lut3<0x96>(t3, x[1], t14);
    const std::uint32_t t16 = detail::lut3<0x48>(t10, t5, t15);
    const std::uint32_t t17 = detail::lut3<0x96>(t9, t13, t16);
    const std::uint32_t t18 = detail::lut3<0xfc>(x[1], t14, t14);
    const std::uint32_t t19 = detail::lut3<0x96>(t18, x[5], t9);
    const std::uint32_t t20 = detail::lut3<0x96>(x[5], x[6], t7);
    const std::uint32_t t21 = detail::lut3<0xc6>(t1, t19, t20);
    const std::uint32_t t22 = detail::lut3<0x96>(t3, t6, t13);
    const std::uint32_t t23 = detail::lut3<0x6a>(x[0], t15, t22);
    const std::uint32_t t24 = detail::lut3<0x46>(t21, t17, t23);
    const std::uint32_t t25 = detail::lut3<0xd4>(x[7], t14, t20);
    const std::uint32_t t26 = detail::lut3<0x96>(t12, t25, t19);
    const std::uint32_t t27 = detail::lut3<0x9a>(t23, t21, t26);
    const std::uint32_t t28 = detail::lut3<0xdc>(t17, t24, t27);
    const std::uint32_t t29 = detail::lut3<0x1c>(t24, t23, t27);
    const std::uint32_t t30 = detail::lut3<0x28>(x[1], t20, t29);
    const std::uint32_t t31 = detail::lut3<0xd8>(t23, t26, t27);
    const std::uint32_t t32 = detail::lut3<0x6a>(t17, t21, t31);
    const std::uint32_t t33 = detail::lut3<0x78>(t21, t27, t32);
    const std::uint32_t t34 = detail::lut3<0x60>(t5, t32, t33);
    const std::uint32_t t35 = detail::lut3<0x6a>(x[0], t33, t34);
    const std::uint32_t t36 = detail::lut3<0x6a>(t14, t28, t35);
    const std::uint32_t t37 = detail::lut3<0x3c>(t28, t29, t29);
    const std::uint32_t t38 = detail::lut3<0x3c>(t37, t33, t33);
    const std::uint32_t t39 = detail::lut3<0x3c>(t29, t32, t32);
    const std::uint32_t t40 = detail::lut3<0x3c>(t38, t39, t39);
    const std::uint32_t t41 = detail::lut3<0x28>(x[4], x[7], t38);
    const std::uint32_t t42 = detail::lut3<0x6a>(t2, t40, t41);
    const std::uint32_t t43 = detail::lut3<0x96>(t30, t36, t42);
    const std::uint32_t t44 = detail::lut3<0x6a>(t1, t28, t43);
    const std::uint32_t t45 = detail::lut3<0x6a>(t4, t38, t44);
    const std::uint32_t t46 = detail::lut3<0x28>(x[0], t7, t29);
    const std::uint32_t t47 = detail::lut3<0x6a>(t20, t37, t46);
    const std::uint32_t t48 = detail::lut3<0x6a>(t7, t39, t47);
    const std::uint32_t t49 = detail::lut3<0x96>(t35, t45, t48);
    const std::uint32_t t50 = detail::lut3<0x6a>(t15, t32, t42);
    const std::uint32_t t51 = detail::lut3<0x28>(x[7], t14, t37);
    const std::uint32_t t52 = detail::lut3<0x96>(t43, t49, t51);
    const std::uint32_t t53 = detail::lut3<0x28>(x[4], t14, t33);
    const std::uint32_t t54 = detail::lut3<0x96>(t50, t52, t53);
    const std::uint32_t t55 = detail::lut3<0x6a>(t6, t40, t48);
    const std::uint32_t t56 = detail::lut3<0x78>(t34, t11, t32);
    const std::uint32_t t57 = detail::lut3<0x60>(t10, t32, t33);
    const std::uint32_t t58 = detail::lut3<0x96>(t50, t55, t57);
    const std::uint32_t t59 = detail::lut3<0x96>(t56, t47, t58);
    const std::uint32_t t60 = detail::lut3<0x3c>(t55, t59, t59);
    const std::uint32_t t61 = detail::lut3<0x96>(t46, t36, t60);
    const std::uint32_t t62 = detail::lut3<0x6a>(t3, t39, t52);
    const std::uint32_t t63 = detail::lut3<0x96>(t41, t55, t62);
    x[0] = t44;
    x[1] = t49;
    x[2] = t54;
    x[3] = t61;
    x[4] = t60;
    x[5] = t63;
    x[6] = t59;
    x[7] = t58;
}

namespace detail {

/// SubWord (FIPS 197, 5.2) of `word` rotated right by `8 * Rotate` bits, by the circuit: about 100 instructions. Bit i
/// of a word's four bytes is a plane as it stands.
template <unsigned Rotate>
__host__ __device__ __forceinline__ std::uint32_t sub_word(std::uint32_t word) {
    std::uint32_t planes[8];
    WARPAES_UNROLL
    for (unsigned bit = 0; bit < 8; ++bit) planes[bit] = word >> bit;
    sub_planes_without_constant(planes);
    std::uint32_t out = 0x63636363u;
    WARPAES_UNROLL
    for (unsigned bit = 0; bit < 8; ++bit) out ^= (planes[bit] & 0x01010101u) << bit;
    return Rotate == 0 ? out : out >> (8 * Rotate % 32) | out << ((32 - 8 * Rotate) % 32);
}

/// The product with x in GF(2^8) (FIPS 197, 4.2) of the four bytes of a word.
__host__ __device__ __forceinline__ std::uint32_t xtime4(std::uint32_t v) {
    return ((v & 0x7f7f7f7fu) << 1) ^ (((v >> 7) & 0x01010101u) * 0x1bu);
}

}  // namespace detail

}  // namespace warpaes::device
