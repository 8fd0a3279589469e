// The blocks of GHASH's input that are not whole blocks of text, for kernels that process messages in one pass.
#pragma once

#include "cuda/kernels/batch_message.cuh"

namespace warpaes::cuda {

/// Returns the block of GHASH's input at `position`, which is not in the text: associated data, the lengths, or zeros.
__device__ __forceinline__ uint4 edge_at(const BatchMessage& m, int position, std::uint32_t blocks) {
    const BatchGroup& group = *m.group;
    if (position == static_cast<int>(blocks)) return block_of(length_block(group.aad_length, group.length));
    const auto aad_bytes = static_cast<std::uint32_t>(group.aad_length);
    const int number = position + static_cast<int>((aad_bytes + block_bytes - 1) / block_bytes);
    if (position >= 0 || number < 0) return uint4{};
    const std::uint32_t at = static_cast<std::uint32_t>(number) * std::uint32_t{block_bytes};
    const std::uint32_t left = aad_bytes - at;
    return load_part(global(group.aad) + m.index * group.aad_stride + at,
                     left < block_bytes ? left : unsigned{block_bytes});
}

/// Returns the first `bytes` bytes of a block, padded with zeros.
__device__ __forceinline__ uint4 first_bytes(uint4 block, unsigned bytes) {
    const auto word = [&](std::uint32_t w, unsigned i) {
        return bytes >= 4 * i + 4 ? w : bytes <= 4 * i ? 0 : w & ((1u << (8 * (bytes - 4 * i))) - 1);
    };
    return make_uint4(word(block.x, 0), word(block.y, 1), word(block.z, 2), word(block.w, 3));
}

}  // namespace warpaes::cuda
