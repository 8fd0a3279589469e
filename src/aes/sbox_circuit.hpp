// The S-box on bit planes: plane i holds bit i of many bytes at once. No table and no branch, so its time and its
// memory accesses say nothing about what it substitutes. A test compares it with the table in gf256.hpp for all 256
// inputs.
#pragma once

#include "aes/types.hpp"
#include "warpaes/device/sbox_circuit.cuh"

namespace warpaes {

/// x := S(x) ^ 0x63 in every lane. The affine constant is left to the caller, who can fold it into a round key. `Word`
/// is any unsigned integer or vector type.
template <typename Word>
WARPAES_HD constexpr void sub_planes_without_constant(Word (&x)[8]) {
    device::detail::sbox_circuit<device::detail::Gates, Word>(x);
}

}  // namespace warpaes
