// The S-box on bit planes: plane i holds bit i of many bytes at once. It has no table and no branch, so its time and
// its memory accesses reveal nothing about its input. A test compares it with the table in gf256.hpp for all 256
// inputs.
#pragma once

#include "aes/types.hpp"
#include "warpaes/device/sbox_circuit.cuh"

namespace warpaes {

/// x := S(x) ^ 0x63 in every bit position. The caller adds the affine constant, which can be folded into a round key.
/// `Word` is any unsigned integer or vector type.
template <typename Word>
WARPAES_HD constexpr void sub_planes_without_constant(Word (&x)[8]) {
    device::detail::sbox_circuit<device::detail::Gates, Word>(x);
}

}  // namespace warpaes
