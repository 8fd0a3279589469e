// A message that one thread processes as a whole, and the final steps of its tag.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_lookup.cuh"
#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/memory.cuh"

namespace warpaes::cuda {

/// Message `number` of a launch.
struct BatchMessage {
    const BatchGroup* group;
    std::uint64_t index;  ///< index within the group

    template <typename Params>
    __device__ __forceinline__ BatchMessage(const Params& p, std::uint64_t number)
        : group(p.groups + find_group<&BatchGroup::first_message>(p, number)), index(number - group->first_message) {}
    __device__ __forceinline__ BatchMessage(const BatchGroup* its_group, std::uint64_t its_index)
        : group(its_group), index(its_index) {}
    [[nodiscard]] __device__ __forceinline__ const uint4* key_slot() const {
        return group->keys + index * group->key_stride;
    }
};

/// Loads `bytes` bytes (0 to 16) at any address and pads them with zeros.
__device__ __forceinline__ uint4 load_part(const std::uint8_t* p, unsigned bytes) {
    if (bytes == block_bytes && reinterpret_cast<std::uintptr_t>(p) % 16 == 0) return load_block(p, 16);
    if (reinterpret_cast<std::uintptr_t>(p) % 4 != 0 || bytes % 4 != 0) return load_tail(p, bytes);
    const auto* const words = reinterpret_cast<const std::uint32_t*>(p);
    const auto word = [&](unsigned i) { return 4 * i < bytes ? words[i] : 0; };
    return make_uint4(word(0), word(1), word(2), word(3));
}

/// Stores the first `bytes` bytes (0 to 16) of a block at any address.
__device__ __forceinline__ void store_tail(std::uint8_t* p, uint4 block, unsigned bytes) {
    if (bytes == block_bytes && reinterpret_cast<std::uintptr_t>(p) % block_bytes == 0) {
        return store_block(p, block, 16);
    }
#pragma unroll
    for (unsigned i = 0; i < block_bytes; ++i) {
        if (i < bytes) p[i] = static_cast<std::uint8_t>(word_of(block, i / 4) >> (8 * (i % 4)));
    }
}

/// Encryption writes the message's tag. Decryption compares it in constant time, records the result in `failed` if
/// `records` is set, and returns whether the tag was right.
__device__ __forceinline__ bool settle_tag(const BatchMessage& m, uint4 tag, bool decrypts, bool records = true) {
    const BatchGroup& g = *m.group;
    std::uint8_t* const at = g.tag + m.index * g.tag_stride;
    if (!decrypts) {
        store_tail(at, tag, g.tag_length);
        return true;
    }
    std::uint32_t difference = 0;
#pragma unroll
    for (unsigned i = 0; i < block_bytes; ++i) {
        if (i < g.tag_length) difference |= at[i] ^ ((word_of(tag, i / 4) >> (8 * (i % 4))) & 0xff);
    }
    if (records && g.failed != nullptr) {
        g.failed[m.index] = difference != 0 ? 1 : 0;
        // Reading first avoids a store for every message if all messages are forged; the word is usually in the cache.
        if (difference != 0 && *g.any_failed == 0) *g.any_failed = 1;
    }
    return difference == 0;
}

}  // namespace warpaes::cuda
