// Bitsliced AES: each thread encrypts 32 blocks under one key with LOP3 instructions. It uses no table and no shared
// memory, and no address depends on a secret. Part of <warpaes/device.cuh>, whose rules apply.
//
// Plane 8 i + b holds bit b of byte i of 32 blocks; bit j of the plane belongs to the thread's block j. The 128 planes
// occupy 128 registers. A warp encrypts 1,024 blocks. Lane l processes blocks l, l + 32, l + 64, …, so the warp's loads
// and stores are coalesced:
//
//     uint4 blocks[32];
//     for (unsigned j = 0; j < 32; ++j) blocks[j] = in[1024 * warp + 32 * j + lane];
//     std::uint32_t planes[128];
//     aes::to_planes(blocks, planes);
//     aes::encrypt_planes(key, planes);
//     aes::from_planes(planes, blocks);
//     for (unsigned j = 0; j < 32; ++j) out[1024 * warp + 32 * j + lane] = blocks[j];
//
// All loops over blocks and planes must be unrolled (#pragma unroll); otherwise the arrays are placed in local memory.
// A thread needs about 200 registers, so launch at most 256 threads per multiprocessor: __launch_bounds__(256).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/keys.cuh>

namespace warpaes::device {

/// A key schedule for planes: mask(r, p), all zeros or all ones, is the value that round r adds to plane p. All lanes
/// of a warp read the same mask at once, so keep the schedule where such a read is fast: in a kernel parameter declared
/// `const __grid_constant__ bitsliced_key<KeyBits>` (one key for the grid), or in shared memory (one key for a warp or
/// a thread block). Its size is 5,632, 6,656 or 7,680 bytes.
template <int KeyBits>
struct bitsliced_key {
    static constexpr unsigned size = 128 * (rounds<KeyBits> + 1);

    alignas(16) std::uint32_t masks[size];

    /// Computes mask `i` of the schedule `keys`. The S-box is computed without its constant 0x63. MixColumns leaves a
    /// column of four equal bytes unchanged, so the constant is added to every round key except the first.
    static __host__ __device__ __forceinline__ std::uint32_t mask(const key_schedule<KeyBits>& keys, unsigned i) {
        const std::uint32_t word = keys.words[i / 32] ^ (i < 128 ? 0 : 0x63636363u);
        return 0u - (word >> i % 32 & 1u);
    }

    /// Writes masks `first`, `first + stride`, … To write all of them, call load(keys) on the host, or load(keys, lane,
    /// 32) in every lane of a warp for a schedule in shared memory, followed by __syncwarp(). `keys` must be in memory,
    /// not in registers.
    __host__ __device__ __forceinline__ void load(const key_schedule<KeyBits>& keys, unsigned first = 0,
                                                  unsigned stride = 1) {
        for (unsigned i = first; i < size; i += stride) masks[i] = mask(keys, i);
    }
};

namespace detail {

/// For every two words that are `Step` apart, swaps the high halves of the first word's groups of 2 * Step bits with
/// the low halves of the second word's groups. `Step` is a template parameter so that every index is a compile-time
/// constant.
template <unsigned Step>
__device__ __forceinline__ void exchange(std::uint32_t* a) {
    constexpr std::uint32_t mask = Step == 4 ? 0x0f0f0f0fu : Step == 2 ? 0x33333333u : 0x55555555u;
    WARPAES_UNROLL
    for (unsigned k = 0; k < 16; ++k) {
        const unsigned i = k / Step * 2 * Step + k % Step;
        const std::uint32_t low = a[i], high = a[i + Step];
        if constexpr (Step == 16) {
            a[i] = __byte_perm(low, high, 0x5410);
            a[i + Step] = __byte_perm(low, high, 0x7632);
        } else if constexpr (Step == 8) {
            a[i] = __byte_perm(low, high, 0x6240);
            a[i + Step] = __byte_perm(low, high, 0x7351);
        } else {
            a[i] = Lop3::lut3<0xca>(mask, low, high << Step);  // mask ? low : high << Step, bit by bit
            a[i + Step] = Lop3::lut3<0xca>(mask, low >> Step, high);
        }
    }
}

/// Transposes 32 x 32 bits: bit j of a[i] becomes bit i of a[j].
__device__ __forceinline__ void transpose(std::uint32_t* a) {
    exchange<16>(a);
    exchange<8>(a);
    exchange<4>(a);
    exchange<2>(a);
    exchange<1>(a);
}

/// One LOP3, written in assembly so that the compiler does not regroup longer sums.
__device__ __forceinline__ std::uint32_t xor3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return Lop3::lut3<0x96>(a, b, c);
}

/// SubBytes without its constant, followed by ShiftRows, for column `c`: out[8 r + b] is bit b of the byte in row r.
__device__ __forceinline__ void sub_shift_column(const std::uint32_t (&s)[128], unsigned c, std::uint32_t (&out)[32]) {
    WARPAES_UNROLL
    for (unsigned row = 0; row < 4; ++row) {
        WARPAES_UNROLL
        for (unsigned b = 0; b < 8; ++b) out[8 * row + b] = s[8 * (4 * ((c + row) % 4) + row) + b];
        sub_planes_without_constant(out + 8 * row);
    }
}

}  // namespace detail

/// Converts a thread's 32 blocks to planes. About 1,000 instructions.
__device__ __forceinline__ void to_planes(const uint4 (&blocks)[32], std::uint32_t (&planes)[128]) {
    WARPAES_UNROLL
    for (unsigned j = 0; j < 32; ++j) {
        planes[j] = blocks[j].x;
        planes[32 + j] = blocks[j].y;
        planes[64 + j] = blocks[j].z;
        planes[96 + j] = blocks[j].w;
    }
    WARPAES_UNROLL
    for (unsigned word = 0; word < 4; ++word) detail::transpose(planes + 32 * word);
}

/// Converts planes back to blocks; the contents of `planes` are destroyed. About 1,000 instructions.
__device__ __forceinline__ void from_planes(std::uint32_t (&planes)[128], uint4 (&blocks)[32]) {
    WARPAES_UNROLL
    for (unsigned word = 0; word < 4; ++word) detail::transpose(planes + 32 * word);
    WARPAES_UNROLL
    for (unsigned j = 0; j < 32; ++j) {
        blocks[j] = make_uint4(planes[j], planes[32 + j], planes[64 + j], planes[96 + j]);
    }
}

/// Computes the planes of a warp's next 1,024 counter blocks: block j of lane `lane` is counter + 32 j + lane, as a
/// big-endian number (SP 800-38A, 6.5). The counter must be a multiple of 1,024; its low ten bits are ignored.
__device__ __forceinline__ void counter_planes(uint4 counter, unsigned lane, std::uint32_t (&planes)[128]) {
    const std::uint32_t words[4] = {counter.x, counter.y, counter.z, counter.w};
    WARPAES_UNROLL
    for (unsigned i = 0; i < 128; ++i) planes[i] = 0u - (words[i / 32] >> i % 32 & 1u);
    WARPAES_UNROLL
    for (unsigned b = 0; b < 5; ++b) planes[120 + b] = 0u - (lane >> b & 1u);
    planes[125] = 0xaaaaaaaau;
    planes[126] = 0xccccccccu;
    planes[127] = 0xf0f0f0f0u;
    planes[112] = 0xff00ff00u;
    planes[113] = 0xffff0000u;
}

/// The cipher (FIPS 197, 5.1) on 32 blocks at once: about 1,400 instructions per round, or 45 per round and block.
template <int KeyBits>
__device__ __forceinline__ void encrypt_planes(const bitsliced_key<KeyBits>& key, std::uint32_t (&planes)[128]) {
    WARPAES_UNROLL
    for (unsigned i = 0; i < 128; ++i) planes[i] ^= key.masks[i];
    const std::uint32_t* masks = key.masks + 128;
    WARPAES_KEEP_ROLLED
    for (int r = 1; r < rounds<KeyBits>; ++r, masks += 128) {
        std::uint32_t next[128];
        WARPAES_UNROLL
        for (unsigned c = 0; c < 4; ++c) {
            std::uint32_t a[32], sums[32];
            detail::sub_shift_column(planes, c, a);
            // MixColumns: row i becomes 2 (a_i + a_i+1) + a_i+1 + (a_i+2 + a_i+3).
            WARPAES_UNROLL
            for (unsigned i = 0; i < 32; ++i) sums[i] = a[i] ^ a[(i + 8) % 32];
            WARPAES_UNROLL
            for (unsigned i = 0; i < 32; ++i) {
                const unsigned row = i / 8, b = i % 8;
                const std::uint32_t rest = detail::xor3(a[(i + 8) % 32], sums[(i + 16) % 32], masks[32 * c + i]);
                const std::uint32_t doubled = sums[8 * row + (b + 7) % 8];
                const bool reduced = b == 1 || b == 3 || b == 4;
                next[32 * c + i] = reduced ? detail::xor3(rest, doubled, sums[8 * row + 7]) : rest ^ doubled;
            }
        }
        WARPAES_UNROLL
        for (unsigned i = 0; i < 128; ++i) planes[i] = next[i];
    }
    std::uint32_t next[128];
    WARPAES_UNROLL
    for (unsigned c = 0; c < 4; ++c) {
        std::uint32_t a[32];
        detail::sub_shift_column(planes, c, a);
        WARPAES_UNROLL
        for (unsigned i = 0; i < 32; ++i) next[32 * c + i] = a[i] ^ masks[32 * c + i];
    }
    WARPAES_UNROLL
    for (unsigned i = 0; i < 128; ++i) planes[i] = next[i];
}

}  // namespace warpaes::device
