// Blocks in device memory. Every alignment works; 16 is the fast one. In kernels for single messages `alignment` is the
// same in all threads, so branches on it do not diverge.
#pragma once

#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

__device__ __forceinline__ std::uint32_t load_word_bytewise(const std::uint8_t* p) {
    return static_cast<std::uint32_t>(p[0]) | (static_cast<std::uint32_t>(p[1]) << 8) |
           (static_cast<std::uint32_t>(p[2]) << 16) | (static_cast<std::uint32_t>(p[3]) << 24);
}

__device__ __forceinline__ void store_word_bytewise(std::uint8_t* p, std::uint32_t v) {
    p[0] = static_cast<std::uint8_t>(v);
    p[1] = static_cast<std::uint8_t>(v >> 8);
    p[2] = static_cast<std::uint8_t>(v >> 16);
    p[3] = static_cast<std::uint8_t>(v >> 24);
}

__device__ __forceinline__ uint4 load_block(const std::uint8_t* p, std::uint32_t alignment) {
    if (alignment == 16) return *reinterpret_cast<const uint4*>(p);
    if (alignment == 4) {
        const auto* w = reinterpret_cast<const std::uint32_t*>(p);
        return make_uint4(w[0], w[1], w[2], w[3]);
    }
    return make_uint4(load_word_bytewise(p), load_word_bytewise(p + 4), load_word_bytewise(p + 8),
                      load_word_bytewise(p + 12));
}

/// The same, but the load is issued here. The compiler would otherwise move it down to its first use, however far away
/// that is.
__device__ __forceinline__ uint4 load_block_early(const std::uint8_t* p, std::uint32_t alignment) {
#if defined(__CUDA_ARCH__)
    if (alignment == 16) {
        uint4 v;
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
        return v;
    }
#endif
    return load_block(p, alignment);
}

/// The same as load_block_early for a word of a constant table in device memory.
__device__ __forceinline__ std::uint32_t load_word_early(const std::uint32_t* p) {
#if defined(__CUDA_ARCH__)
    std::uint32_t v;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
#else
    return *p;
#endif
}

__device__ __forceinline__ void store_block(std::uint8_t* p, uint4 v, std::uint32_t alignment) {
    if (alignment == 16) {
        *reinterpret_cast<uint4*>(p) = v;
    } else if (alignment == 4) {
        auto* w = reinterpret_cast<std::uint32_t*>(p);
        w[0] = v.x;
        w[1] = v.y;
        w[2] = v.z;
        w[3] = v.w;
    } else {
        store_word_bytewise(p, v.x);
        store_word_bytewise(p + 4, v.y);
        store_word_bytewise(p + 8, v.z);
        store_word_bytewise(p + 12, v.w);
    }
}

/// Stores the first half of a block; `p` is a multiple of 8 if `alignment` is 16.
__device__ __forceinline__ void store_half_block(std::uint8_t* p, uint4 v, std::uint32_t alignment) {
    if (alignment == 16) {
        *reinterpret_cast<uint2*>(p) = make_uint2(v.x, v.y);
    } else if (alignment == 4) {
        auto* w = reinterpret_cast<std::uint32_t*>(p);
        w[0] = v.x;
        w[1] = v.y;
    } else {
        store_word_bytewise(p, v.x);
        store_word_bytewise(p + 4, v.y);
    }
}

/// The first `bytes` (1 to 15) of a message's last, partial block: out := in ^ key_stream.
__device__ __forceinline__ void xor_partial_block(std::uint8_t* out, const std::uint8_t* in, uint4 key_stream,
                                                  unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        out[i] = static_cast<std::uint8_t>(in[i] ^ (word_of(key_stream, i / 4) >> (8 * (i % 4))));
    }
}

}  // namespace warpaes::cuda
