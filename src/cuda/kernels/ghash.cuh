// The common code of all GHASH kernels, with and without tensor cores: partial blocks and the end of a segment.
#pragma once

#include "cuda/kernels/field.cuh"
#include "cuda/kernels/gcm_params.cuh"

namespace warpaes::cuda {

/// Loads the last, partial block of `bytes` bytes, padded with zeros.
__device__ __forceinline__ uint4 load_tail(const std::uint8_t* p, unsigned bytes) {
    std::uint32_t words[4] = {};
#pragma unroll
    for (unsigned i = 0; i < block_bytes; ++i) {
        if (i < bytes) words[i / 4] |= static_cast<std::uint32_t>(p[i]) << (8 * (i % 4));
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Returns the block with its bytes in reverse order.
__device__ __forceinline__ uint4 reversed(uint4 v) {
    return make_uint4(byte_swap(v.w), byte_swap(v.z), byte_swap(v.y), byte_swap(v.x));
}

/// Reads a secret for the last time and overwrites it with zeros.
__device__ __forceinline__ uint4 take(uint4* from) {
    const uint4 value = *from;
    *from = make_uint4(0, 0, 0, 0);
    return value;
}

/// Finishes a segment whose sum over its whole blocks is `y`: adds the partial block and, for a tag, associated data
/// and lengths, and stores the result. Must be called by one thread.
__device__ inline void finish_segment(const Segments& text, const Finish& f, std::uint64_t segment, FieldElement y) {
    const std::uint64_t bytes = text.bytes_of(segment);
    const auto rest = static_cast<unsigned>(bytes % block_bytes);
    const FieldElement more = segment + 1 == text.count ? f.last_addend : f.addend;
    for (int pass = rest != 0 ? 0 : 1; pass < (f.tag ? 2 : 1); ++pass) {
        FieldElement addend = more;
        if (pass == 0) {
            uint4 tail = load_tail(text.data + segment * text.stride + bytes - rest, rest);
            if (text.reversed) tail = reversed(tail);
            addend = element_of(tail);
        }
        y = product(y ^ addend, f.h);
    }
    uint4 result = block_of(y);
    if (f.pads != nullptr) result = result ^ take(f.pads + segment);
    store_block(f.results + segment * block_bytes, result, f.alignment);
}

}  // namespace warpaes::cuda
