// The layout of an expanded key in device memory, for the host and for kernels.
#pragma once

namespace warpaes::cuda {

/// A slot has 16 blocks. Blocks [0, rounds] are the round keys of the cipher or of the equivalent inverse cipher. In
/// addition to round keys of the cipher, the last block is E(K, 0), which is H of GHASH.
inline constexpr unsigned key_slot_blocks = 16;
inline constexpr unsigned key_slot_h = 15;
inline constexpr unsigned key_slot_bytes = 16 * key_slot_blocks;

}  // namespace warpaes::cuda
