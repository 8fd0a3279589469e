// Accesses blocks in device memory at any alignment; an alignment of 16 is fast. In kernels for single messages,
// `alignment` is the same in all threads, so branches on it do not diverge.
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

/// Returns the 32 bits of `high:low` that start at bit `shift` (0 to 32).
__device__ __forceinline__ std::uint32_t word_from(std::uint32_t low, std::uint32_t high, unsigned shift) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_rc(low, high, shift);
#else
    return static_cast<std::uint32_t>(((std::uint64_t{high} << 32) | low) >> shift);
#endif
}

/// Returns a block at any address without accessing bytes before or after it: loads the three aligned words in the
/// block, and the four bytes around them. `edge` contains these four bytes at their positions in aligned words; the
/// bytes after the three words are below the bytes before them. Loading byte by byte would take 16 accesses, each to
/// all sectors of a warp.
__device__ __forceinline__ uint4 load_unaligned(const std::uint8_t* p) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 4);
    const auto* const words = reinterpret_cast<const std::uint32_t*>(p - past + 4);
    std::uint32_t bytes = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) bytes |= std::uint32_t{p[i + past < 4 ? i : i + 12]} << (8 * i);
    const std::uint32_t edge = word_from(bytes, bytes, 32 - 8 * past);
    return make_uint4(word_from(edge, words[0], 8 * past), word_from(words[0], words[1], 8 * past),
                      word_from(words[1], words[2], 8 * past), word_from(words[2], edge, 8 * past));
}

__device__ __forceinline__ void store_unaligned(std::uint8_t* p, uint4 v) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 4);
    auto* const words = reinterpret_cast<std::uint32_t*>(p - past + 4);
    words[0] = word_from(v.x, v.y, 32 - 8 * past);
    words[1] = word_from(v.y, v.z, 32 - 8 * past);
    words[2] = word_from(v.z, v.w, 32 - 8 * past);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const bool before = i + past < 4;
        p[before ? i : i + 12] = static_cast<std::uint8_t>((before ? v.x : v.w) >> (8 * i));
    }
}

__device__ __forceinline__ uint4 load_block(const std::uint8_t* p, std::uint32_t alignment) {
    if (alignment == 16) return *reinterpret_cast<const uint4*>(p);
    if (alignment == 4) {
        const auto* w = reinterpret_cast<const std::uint32_t*>(p);
        return make_uint4(w[0], w[1], w[2], w[3]);
    }
    return load_unaligned(p);
}

/// Returns the 16 bytes that begin at byte `at` (0 to 15) of two blocks. Selecting words is faster than branches, even
/// if `at` is the same in all lanes.
__device__ __forceinline__ uint4 block_from(uint4 a, uint4 b, unsigned at) {
    const bool two = (at & 8) != 0, one = (at & 4) != 0;
    const std::uint32_t w[6] = {two ? a.z : a.x, two ? a.w : a.y, two ? b.x : a.z,
                                two ? b.y : a.w, two ? b.z : b.x, two ? b.w : b.y};
    const std::uint32_t v[5] = {one ? w[1] : w[0], one ? w[2] : w[1], one ? w[3] : w[2], one ? w[4] : w[3],
                                one ? w[5] : w[4]};
    const unsigned shift = 8 * (at % 4);
    return make_uint4(word_from(v[0], v[1], shift), word_from(v[1], v[2], shift), word_from(v[2], v[3], shift),
                      word_from(v[3], v[4], shift));
}

/// Returns a block at any address, which must lie between two other blocks of the same text. Loads the two aligned
/// blocks that contain it, which takes fewer accesses than loading its words and bytes. The bytes of the neighbours,
/// which other threads may be writing, are discarded.
__device__ __forceinline__ uint4 load_inner_block(const std::uint8_t* p) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 16);
    const auto* const aligned = reinterpret_cast<const uint4*>(p - past);
    const uint4 a = aligned[0];
    return block_from(a, past != 0 ? aligned[1] : a, past);
}

/// Like load_block(), but the load is issued here. The compiler would otherwise move it down to the first use of the
/// result, however far away that is.
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

/// Like load_block_early(), for a word of a constant table in device memory.
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
        store_unaligned(p, v);
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

/// Processes the first `bytes` (1 to 15) of a message's last, partial block: out := in ^ key_stream.
__device__ __forceinline__ void xor_partial_block(std::uint8_t* out, const std::uint8_t* in, uint4 key_stream,
                                                  unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        out[i] = static_cast<std::uint8_t>(in[i] ^ (word_of(key_stream, i / 4) >> (8 * (i % 4))));
    }
}

}  // namespace warpaes::cuda
