// The layout of an expanded key in device memory, for the host and for kernels.
#pragma once

namespace warpaes::cuda {

/// A slot has 16 blocks. Blocks [0, rounds] are the round keys of the cipher or of the equivalent inverse cipher. A
/// slot with round keys of the cipher also contains E(K, 0), which is H of GHASH, in its last block.
inline constexpr unsigned key_slot_blocks = 16;
inline constexpr unsigned key_slot_h = 15;
inline constexpr unsigned key_slot_bytes = 16 * key_slot_blocks;

}  // namespace warpaes::cuda
