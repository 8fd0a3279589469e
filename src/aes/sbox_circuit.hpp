// The S-box as a circuit of three-input gates, for bit planes: plane i holds bit i of many bytes at once. No table and
// no branch, so its time and its memory accesses say nothing about what it substitutes.
//
// A gate's constant is its truth table in the order of PTX `lop3` and AVX-512 `vpternlog`: bit (4a + 2b + c). The
// circuit was found by plateau search with resubstitution from the 113-gate circuit of Boyar, Peralta and Calik; 63
// gates is an upper bound, not a proven minimum. A test compares it with the table in gf256.hpp for all 256 inputs.
#pragma once

#include "aes/types.hpp"

namespace warpaes {

/// The three-input Boolean function with truth table `Table`, bitwise. `Word` is any unsigned integer or vector type.
template <unsigned Table, typename Word>
WARPAES_HD constexpr Word lut3(Word a, Word b, Word c) {
    Word out = a ^ a;  // NOLINT(misc-redundant-expression): zero, of any type
    if constexpr (Table & 0x01) out |= ~a & ~b & ~c;
    if constexpr (Table & 0x02) out |= ~a & ~b & c;
    if constexpr (Table & 0x04) out |= ~a & b & ~c;
    if constexpr (Table & 0x08) out |= ~a & b & c;
    if constexpr (Table & 0x10) out |= a & ~b & ~c;
    if constexpr (Table & 0x20) out |= a & ~b & c;
    if constexpr (Table & 0x40) out |= a & b & ~c;
    if constexpr (Table & 0x80) out |= a & b & c;
    return out;
}

/// x := S(x) ^ 0x63 in every lane. The affine constant is left to the caller, who can fold it into a round key.
template <typename Word>
WARPAES_HD constexpr void sub_planes_without_constant(Word (&x)[8]) {
    const Word t1 = lut3<0x3c>(x[1], x[7], x[7]);
    const Word t2 = lut3<0x3c>(x[2], x[4], x[4]);
    const Word t3 = lut3<0x3c>(x[7], x[2], x[2]);
    const Word t4 = lut3<0x96>(x[4], x[5], t3);
    const Word t5 = lut3<0x96>(x[3], x[4], t1);
    const Word t6 = lut3<0x96>(x[5], x[6], t5);
    const Word t7 = lut3<0x3c>(t4, t6, t6);
    const Word t8 = lut3<0x28>(t3, t2, t7);
    const Word t9 = lut3<0x56>(t2, t4, t8);
    const Word t10 = lut3<0x3c>(t1, t2, t2);
    const Word t11 = lut3<0x3c>(x[0], t5, t5);
    const Word t12 = lut3<0x6a>(t3, t6, t8);
    const Word t13 = lut3<0x6a>(t10, t11, t12);
    const Word t14 = lut3<0x3c>(t6, t11, t11);
    const Word t15 = lut3<0x96>(t3, x[1], t14);
    const Word t16 = lut3<0x48>(t10, t5, t15);
    const Word t17 = lut3<0x96>(t9, t13, t16);
    const Word t18 = lut3<0xfc>(x[1], t14, t14);
    const Word t19 = lut3<0x96>(t18, x[5], t9);
    const Word t20 = lut3<0x96>(x[5], x[6], t7);
    const Word t21 = lut3<0xc6>(t1, t19, t20);
    const Word t22 = lut3<0x96>(t3, t6, t13);
    const Word t23 = lut3<0x6a>(x[0], t15, t22);
    const Word t24 = lut3<0x46>(t21, t17, t23);
    const Word t25 = lut3<0xd4>(x[7], t14, t20);
    const Word t26 = lut3<0x96>(t12, t25, t19);
    const Word t27 = lut3<0x9a>(t23, t21, t26);
    const Word t28 = lut3<0xdc>(t17, t24, t27);
    const Word t29 = lut3<0x1c>(t24, t23, t27);
    const Word t30 = lut3<0x28>(x[1], t20, t29);
    const Word t31 = lut3<0xd8>(t23, t26, t27);
    const Word t32 = lut3<0x6a>(t17, t21, t31);
    const Word t33 = lut3<0x78>(t21, t27, t32);
    const Word t34 = lut3<0x60>(t5, t32, t33);
    const Word t35 = lut3<0x6a>(x[0], t33, t34);
    const Word t36 = lut3<0x6a>(t14, t28, t35);
    const Word t37 = lut3<0x3c>(t28, t29, t29);
    const Word t38 = lut3<0x3c>(t37, t33, t33);
    const Word t39 = lut3<0x3c>(t29, t32, t32);
    const Word t40 = lut3<0x3c>(t38, t39, t39);
    const Word t41 = lut3<0x28>(x[4], x[7], t38);
    const Word t42 = lut3<0x6a>(t2, t40, t41);
    const Word t43 = lut3<0x96>(t30, t36, t42);
    const Word t44 = lut3<0x6a>(t1, t28, t43);
    const Word t45 = lut3<0x6a>(t4, t38, t44);
    const Word t46 = lut3<0x28>(x[0], t7, t29);
    const Word t47 = lut3<0x6a>(t20, t37, t46);
    const Word t48 = lut3<0x6a>(t7, t39, t47);
    const Word t49 = lut3<0x96>(t35, t45, t48);
    const Word t50 = lut3<0x6a>(t15, t32, t42);
    const Word t51 = lut3<0x28>(x[7], t14, t37);
    const Word t52 = lut3<0x96>(t43, t49, t51);
    const Word t53 = lut3<0x28>(x[4], t14, t33);
    const Word t54 = lut3<0x96>(t50, t52, t53);
    const Word t55 = lut3<0x6a>(t6, t40, t48);
    const Word t56 = lut3<0x78>(t34, t11, t32);
    const Word t57 = lut3<0x60>(t10, t32, t33);
    const Word t58 = lut3<0x96>(t50, t55, t57);
    const Word t59 = lut3<0x96>(t56, t47, t58);
    const Word t60 = lut3<0x3c>(t55, t59, t59);
    const Word t61 = lut3<0x96>(t46, t36, t60);
    const Word t62 = lut3<0x6a>(t3, t39, t52);
    const Word t63 = lut3<0x96>(t41, t55, t62);
    x[0] = t44;
    x[1] = t49;
    x[2] = t54;
    x[3] = t61;
    x[4] = t60;
    x[5] = t63;
    x[6] = t59;
    x[7] = t58;
}

}  // namespace warpaes
