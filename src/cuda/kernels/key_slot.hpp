// A key in device memory, for the host and for kernels.
#pragma once

namespace warpaes::cuda {

/// 16 blocks, of which [0, rounds] are the round keys of the cipher or of the equivalent inverse cipher, and the last
/// is E(K, 0), GHASH's H, beside round keys of the cipher.
inline constexpr unsigned key_slot_blocks = 16;
inline constexpr unsigned key_slot_h = 15;
inline constexpr unsigned key_slot_bytes = 16 * key_slot_blocks;

}  // namespace warpaes::cuda
