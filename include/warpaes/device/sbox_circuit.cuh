// The S-box of AES (FIPS 197, 5.1.1) as a circuit of 63 three-input gates on bit planes. The circuit has no table and
// no branch, so neither its time nor its addresses depend on the bytes. Part of <warpaes/device.cuh>; host code can
// also use it.
//
// The constant of a gate is its truth table in the order of PTX `lop3` and AVX-512 `vpternlog`: bit (4a + 2b + c). The
// circuit was found by plateau search with resubstitution, starting from the 113-gate circuit of Boyar, Peralta and
// Calik; 63 gates are an upper bound, not a proven minimum.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__CUDACC__)
#define WARPAES_CIRCUIT __host__ __device__ __forceinline__
#else
#define WARPAES_CIRCUIT inline
#endif

namespace warpaes::device::detail {

/// Gates for any unsigned integer or vector type.
struct Gates {
    /// Applies the three-input Boolean function with the truth table `Table` to each bit of the words.
    template <unsigned Table, typename Word>
    WARPAES_CIRCUIT static constexpr Word lut3(Word a, Word b, Word c) {
        Word out = a ^ a;  // NOLINT(misc-redundant-expression): zero, of any type
        if constexpr ((Table & 0x01) != 0) out |= ~a & ~b & ~c;
        if constexpr ((Table & 0x02) != 0) out |= ~a & ~b & c;
        if constexpr ((Table & 0x04) != 0) out |= ~a & b & ~c;
        if constexpr ((Table & 0x08) != 0) out |= ~a & b & c;
        if constexpr ((Table & 0x10) != 0) out |= a & ~b & ~c;
        if constexpr ((Table & 0x20) != 0) out |= a & ~b & c;
        if constexpr ((Table & 0x40) != 0) out |= a & b & ~c;
        if constexpr ((Table & 0x80) != 0) out |= a & b & c;
        return out;
    }
};

/// Computes x := S(x) ^ 0x63 for every byte of eight planes; plane x[i] holds bit i of each byte.
template <typename Logic, typename Word>
WARPAES_CIRCUIT constexpr void sbox_circuit(Word* x) {
    const Word t1 = Logic::template lut3<0x3c>(x[1], x[7], x[7]);
    const Word t2 = Logic::template lut3<0x3c>(x[2], x[4], x[4]);
    const Word t3 = Logic::template lut3<0x3c>(x[7], x[2], x[2]);
    const Word t4 = Logic::template lut3<0x96>(x[4], x[5], t3);
    const Word t5 = Logic::template lut3<0x96>(x[3], x[4], t1);
    const Word t6 = Logic::template lut3<0x96>(x[5], x[6], t5);
    const Word t7 = Logic::template lut3<0x3c>(t4, t6, t6);
    const Word t8 = Logic::template lut3<0x28>(t3, t2, t7);
    const Word t9 = Logic::template lut3<0x56>(t2, t4, t8);
    const Word t10 = Logic::template lut3<0x3c>(t1, t2, t2);
    const Word t11 = Logic::template lut3<0x3c>(x[0], t5, t5);
    const Word t12 = Logic::template lut3<0x6a>(t3, t6, t8);
    const Word t13 = Logic::template lut3<0x6a>(t10, t11, t12);
    const Word t14 = Logic::template lut3<0x3c>(t6, t11, t11);
    const Word t15 = Logic::template lut3<0x96>(t3, x[1], t14);
    const Word t16 = Logic::template lut3<0x48>(t10, t5, t15);
    const Word t17 = Logic::template lut3<0x96>(t9, t13, t16);
    const Word t18 = Logic::template lut3<0xfc>(x[1], t14, t14);
    const Word t19 = Logic::template lut3<0x96>(t18, x[5], t9);
    const Word t20 = Logic::template lut3<0x96>(x[5], x[6], t7);
    const Word t21 = Logic::template lut3<0xc6>(t1, t19, t20);
    const Word t22 = Logic::template lut3<0x96>(t3, t6, t13);
    const Word t23 = Logic::template lut3<0x6a>(x[0], t15, t22);
    const Word t24 = Logic::template lut3<0x46>(t21, t17, t23);
    const Word t25 = Logic::template lut3<0xd4>(x[7], t14, t20);
    const Word t26 = Logic::template lut3<0x96>(t12, t25, t19);
    const Word t27 = Logic::template lut3<0x9a>(t23, t21, t26);
    const Word t28 = Logic::template lut3<0xdc>(t17, t24, t27);
    const Word t29 = Logic::template lut3<0x1c>(t24, t23, t27);
    const Word t30 = Logic::template lut3<0x28>(x[1], t20, t29);
    const Word t31 = Logic::template lut3<0xd8>(t23, t26, t27);
    const Word t32 = Logic::template lut3<0x6a>(t17, t21, t31);
    const Word t33 = Logic::template lut3<0x78>(t21, t27, t32);
    const Word t34 = Logic::template lut3<0x60>(t5, t32, t33);
    const Word t35 = Logic::template lut3<0x6a>(x[0], t33, t34);
    const Word t36 = Logic::template lut3<0x6a>(t14, t28, t35);
    const Word t37 = Logic::template lut3<0x3c>(t28, t29, t29);
    const Word t38 = Logic::template lut3<0x3c>(t37, t33, t33);
    const Word t39 = Logic::template lut3<0x3c>(t29, t32, t32);
    const Word t40 = Logic::template lut3<0x3c>(t38, t39, t39);
    const Word t41 = Logic::template lut3<0x28>(x[4], x[7], t38);
    const Word t42 = Logic::template lut3<0x6a>(t2, t40, t41);
    const Word t43 = Logic::template lut3<0x96>(t30, t36, t42);
    const Word t44 = Logic::template lut3<0x6a>(t1, t28, t43);
    const Word t45 = Logic::template lut3<0x6a>(t4, t38, t44);
    const Word t46 = Logic::template lut3<0x28>(x[0], t7, t29);
    const Word t47 = Logic::template lut3<0x6a>(t20, t37, t46);
    const Word t48 = Logic::template lut3<0x6a>(t7, t39, t47);
    const Word t49 = Logic::template lut3<0x96>(t35, t45, t48);
    const Word t50 = Logic::template lut3<0x6a>(t15, t32, t42);
    const Word t51 = Logic::template lut3<0x28>(x[7], t14, t37);
    const Word t52 = Logic::template lut3<0x96>(t43, t49, t51);
    const Word t53 = Logic::template lut3<0x28>(x[4], t14, t33);
    const Word t54 = Logic::template lut3<0x96>(t50, t52, t53);
    const Word t55 = Logic::template lut3<0x6a>(t6, t40, t48);
    const Word t56 = Logic::template lut3<0x78>(t34, t11, t32);
    const Word t57 = Logic::template lut3<0x60>(t10, t32, t33);
    const Word t58 = Logic::template lut3<0x96>(t50, t55, t57);
    const Word t59 = Logic::template lut3<0x96>(t56, t47, t58);
    const Word t60 = Logic::template lut3<0x3c>(t55, t59, t59);
    const Word t61 = Logic::template lut3<0x96>(t46, t36, t60);
    const Word t62 = Logic::template lut3<0x6a>(t3, t39, t52);
    const Word t63 = Logic::template lut3<0x96>(t41, t55, t62);
    x[0] = t44;
    x[1] = t49;
    x[2] = t54;
    x[3] = t61;
    x[4] = t60;
    x[5] = t63;
    x[6] = t59;
    x[7] = t58;
}

}  // namespace warpaes::device::detail
