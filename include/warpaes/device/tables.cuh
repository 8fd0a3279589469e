// The cipher and its inverse with T-tables in shared memory. Part of <warpaes/device.cuh>, whose rules apply.
//
// T0[x] = S(x) * (02, 01, 01, 03); T1, T2 and T3 are T0 rotated by 8, 16 and 24 bits (Daemen and Rijmen, "AES Proposal:
// Rijndael", 5.2.1). For the equivalent inverse cipher (FIPS 197, 5.3.5) T0[x] = S^-1(x) * (0e, 09, 0d, 0b).
//
// Shared memory has 32 banks of four bytes. Every entry is stored 32 times, once in each bank, and a lane reads only
// its own bank, so a lookup never has a bank conflict. Row e is 256 bytes: T0[e] for 32 lanes, then T1[e] for 32 lanes.
// T2 and T3 are stored in the same way, 64 KiB further on. The address of lane l's copy of T0[e] is therefore 256 e + 4
// l, which takes one PRMT to compute, and the other tables are at constant offsets from it. With two tables, T2 and T3
// are rotations of T0 and T1. With one table, rows are 128 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/keys.cuh>

namespace warpaes::device {

namespace detail {

__device__ __forceinline__ unsigned thread_number() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

template <unsigned Bytes>
__device__ __forceinline__ std::uint32_t rotate_left(std::uint32_t v) {
    return Bytes == 0 ? v : __funnelshift_l(v, v, 8 * Bytes);
}

/// The four substituted bytes of a column, computed from four entries of T0. In a table of the cipher, byte 1 of an
/// entry is S(x). In a table of the inverse cipher, the four bytes of an entry add up to S^-1(x), because 0e ^ 09 ^ 0d
/// ^ 0b = 1.
template <bool Inverse>
__device__ __forceinline__ std::uint32_t substituted(std::uint32_t e0, std::uint32_t e1, std::uint32_t e2,
                                                     std::uint32_t e3) {
    if constexpr (!Inverse) {
        return __byte_perm(__byte_perm(e0, e1, 0x0051), __byte_perm(e2, e3, 0x0051), 0x5410);
    } else {
        const std::uint32_t sum01 = __byte_perm(e0, e1, 0x5410) ^ __byte_perm(e0, e1, 0x7632);
        const std::uint32_t sum23 = __byte_perm(e2, e3, 0x5410) ^ __byte_perm(e2, e3, 0x7632);
        return __byte_perm(sum01, sum23, 0x6420) ^ __byte_perm(sum01, sum23, 0x7531);
    }
}

}  // namespace detail

/// A lane's view of `Count` T-tables in the thread block's shared memory. Four tables are the fastest; fewer tables
/// leave more shared memory free, but a lookup takes more instructions. `Inverse` selects the tables of the inverse
/// cipher.
template <int Count, bool Inverse = false>
class tables {
    static_assert(Count == 1 || Count == 2 || Count == 4, "there are four T-tables: store 4, 2 or 1 of them");

public:
    static constexpr int count = Count;
    static constexpr bool inverse = Inverse;
    /// Size in shared memory in bytes: 128, 64 or 32 KiB. More than 48 KiB must be dynamic shared memory that the host
    /// has requested with cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes).
    static constexpr unsigned bytes = Count * 32u * 1024u;

    /// `shared` points to `bytes` bytes of shared memory, aligned to 16. Lookups are fastest if the compiler can
    /// determine the address: the shared array itself, or a constant offset from its beginning.
    __device__ __forceinline__ explicit tables(void* shared)
        : base_(static_cast<unsigned char*>(shared)), lane_((detail::thread_number() % 32) * (Count == 1 ? 8 : 4)) {}

    /// Writes the tables and ends with a barrier (__syncthreads). All threads of the thread block must call it before
    /// the first lookup, and their number must be a multiple of 32. The call takes a few microseconds, once per thread
    /// block, regardless of how many AES blocks the kernel then encrypts.
    __device__ __forceinline__ void load() const {
        const unsigned thread = detail::thread_number(), lane = thread % 32;
        const unsigned warps = blockDim.x * blockDim.y * blockDim.z / 32;
        // A unit is eight of 32 adjacent entries. Each lane computes one of the 32 entries; 8 * Count lanes write one
        // row.
        constexpr unsigned row_lanes = 8 * Count, rows_at_once = 32 / row_lanes;
        const unsigned in_row = lane % row_lanes;
        for (unsigned unit = thread / 32; unit < 32; unit += warps) {
            const std::uint32_t x = unit / 4 * 32 + lane, s = detail::sub_word<0>(x) & 0xff;
            const std::uint32_t row = Inverse ? s : x, entry = Inverse ? inverse_entry(x) : entry_of(s);
            WARPAES_UNROLL
            for (unsigned k = 0; k < 8 / rows_at_once; ++k) {
                const int source = static_cast<int>(unit % 4 * 8 + k * rows_at_once + lane / row_lanes);
                const unsigned to = __shfl_sync(0xffffffffu, row, source);
                const std::uint32_t t0 = __shfl_sync(0xffffffffu, entry, source);
                const std::uint32_t v = __funnelshift_l(t0, t0, in_row / 8 * 8);
                unsigned char* const half = base_ + in_row / 16 * half_bytes;
                *reinterpret_cast<uint4*>(half + to * row_bytes + in_row % 16 * 16) = make_uint4(v, v, v, v);
            }
        }
        __syncthreads();
    }

    /// Returns T_Row[byte `Byte` of `word`], which takes one lookup.
    template <unsigned Row, unsigned Byte>
    __device__ __forceinline__ std::uint32_t lookup(std::uint32_t word) const {
        return detail::rotate_left<Row - Row % Count>(stored<Row % Count, Byte>(word));
    }

    /// Returns a column of the next state, with four lookups: T0[byte 0 of w0] ^ T1[byte 1 of w1] ^ T2[byte 2 of w2] ^
    /// T3[byte 3 of w3] ^ key.
    __device__ __forceinline__ std::uint32_t column(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2,
                                                    std::uint32_t w3, std::uint32_t key) const {
        if constexpr (Count == 2) {
            const std::uint32_t high = stored<0, 2>(w2) ^ stored<1, 3>(w3);
            return stored<0, 0>(w0) ^ stored<1, 1>(w1) ^ key ^ detail::rotate_left<2>(high);
        } else {
            return lookup<0, 0>(w0) ^ lookup<1, 1>(w1) ^ lookup<2, 2>(w2) ^ lookup<3, 3>(w3) ^ key;
        }
    }

    /// The bytes S(byte 0 of w0), S(byte 1 of w1), S(byte 2 of w2), S(byte 3 of w3) as a word (with S^-1 for the
    /// inverse cipher): a column of the last round before its round key is added. Four lookups.
    __device__ __forceinline__ std::uint32_t substitute(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2,
                                                        std::uint32_t w3) const {
        return detail::substituted<Inverse>(stored<0, 0>(w0), stored<0, 1>(w1), stored<0, 2>(w2), stored<0, 3>(w3));
    }

    /// SubWord (FIPS 197, 5.2) of `word` rotated right by 8 * Rotate bits: four lookups.
    template <unsigned Rotate>
    __device__ __forceinline__ std::uint32_t sub_word(std::uint32_t word) const {
        static_assert(!Inverse, "keys are expanded with the tables of the cipher, or without any");
        return detail::substituted<Inverse>(stored<0, Rotate % 4>(word), stored<0, (1 + Rotate) % 4>(word),
                                            stored<0, (2 + Rotate) % 4>(word), stored<0, (3 + Rotate) % 4>(word));
    }

private:
    static constexpr unsigned half_bytes = 64 * 1024;
    static constexpr unsigned row_bytes = Count == 1 ? 128 : 256;

    static __device__ __forceinline__ std::uint32_t entry_of(std::uint32_t s) {
        const std::uint32_t s2 = detail::xtime4(s);
        return s2 | s << 8 | s << 16 | (s2 ^ s) << 24;
    }
    static __device__ __forceinline__ std::uint32_t inverse_entry(std::uint32_t s) {
        const std::uint32_t s2 = detail::xtime4(s), s4 = detail::xtime4(s2), s8 = detail::xtime4(s4);
        return (s8 ^ s4 ^ s2) | (s8 ^ s) << 8 | (s8 ^ s4 ^ s) << 16 | (s8 ^ s2 ^ s) << 24;
    }

    /// Entry number `byte Byte of word` of the stored table `Table`.
    template <unsigned Table, unsigned Byte>
    __device__ __forceinline__ std::uint32_t stored(std::uint32_t word) const {
        constexpr unsigned select = 0x5504u | Byte << 4;  // selects the lane, the byte, zero, zero
        unsigned offset = __byte_perm(word, lane_, select);
        if constexpr (Count == 1) offset /= 2;
        constexpr unsigned table = Table / 2 * half_bytes + Table % 2 * 128;
        return *reinterpret_cast<const std::uint32_t*>(base_ + offset + table);
    }

    unsigned char* base_;
    std::uint32_t lane_;  ///< byte 0: offset of the lane's bank in a row, doubled if there is only one table
};

template <int Count>
using inverse_tables = tables<Count, true>;

namespace detail {

__device__ __forceinline__ uint4 add(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

template <typename Schedule>
__device__ __forceinline__ uint4 round_key(const Schedule& keys, int r) {
    return make_uint4(keys.words[4 * r], keys.words[4 * r + 1], keys.words[4 * r + 2], keys.words[4 * r + 3]);
}

/// Any round except the last. ShiftRows moves row r of column c + r into column c; in the inverse cipher, row r of
/// column c - r.
template <int Count, bool Inverse>
__device__ __forceinline__ uint4 inner_round(const tables<Count, Inverse>& t, uint4 s, uint4 key) {
    if constexpr (!Inverse) {
        return make_uint4(t.column(s.x, s.y, s.z, s.w, key.x), t.column(s.y, s.z, s.w, s.x, key.y),
                          t.column(s.z, s.w, s.x, s.y, key.z), t.column(s.w, s.x, s.y, s.z, key.w));
    } else {
        return make_uint4(t.column(s.x, s.w, s.z, s.y, key.x), t.column(s.y, s.x, s.w, s.z, key.y),
                          t.column(s.z, s.y, s.x, s.w, key.z), t.column(s.w, s.z, s.y, s.x, key.w));
    }
}

/// The last round, which has no MixColumns.
template <int Count, bool Inverse>
__device__ __forceinline__ uint4 last_round(const tables<Count, Inverse>& t, uint4 s, uint4 key) {
    if constexpr (!Inverse) {
        return make_uint4(t.substitute(s.x, s.y, s.z, s.w) ^ key.x, t.substitute(s.y, s.z, s.w, s.x) ^ key.y,
                          t.substitute(s.z, s.w, s.x, s.y) ^ key.z, t.substitute(s.w, s.x, s.y, s.z) ^ key.w);
    } else {
        return make_uint4(t.substitute(s.x, s.w, s.z, s.y) ^ key.x, t.substitute(s.y, s.x, s.w, s.z) ^ key.y,
                          t.substitute(s.z, s.y, s.x, s.w) ^ key.z, t.substitute(s.w, s.z, s.y, s.x) ^ key.w);
    }
}

template <int KeyBits, int Count, bool Inverse, typename Schedule>
__device__ __forceinline__ uint4 cipher(const tables<Count, Inverse>& t, const Schedule& keys, uint4 block) {
    uint4 s = add(block, round_key(keys, 0));
    WARPAES_UNROLL
    for (int r = 1; r < rounds<KeyBits>; ++r) s = inner_round(t, s, round_key(keys, r));
    return last_round(t, s, round_key(keys, rounds<KeyBits>));
}

}  // namespace detail

/// Applies the cipher (FIPS 197, 5.1) to `block`. `keys` may be in registers (one schedule per thread), in shared
/// memory, or in a kernel parameter declared `const __grid_constant__ key_schedule<KeyBits>`, which is the fastest
/// place for a single key. A call takes 160, 192 or 224 lookups, and about 20 registers in addition to the keys.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 encrypt_block(const tables<Count>& t, const key_schedule<KeyBits>& keys, uint4 block) {
    return detail::cipher<KeyBits>(t, keys, block);
}

/// Applies the inverse cipher (FIPS 197, 5.3.5) to `block`. Like encrypt_block, but with the round keys that invert()
/// computes.
template <int KeyBits, int Count>
__device__ __forceinline__ uint4 decrypt_block(const inverse_tables<Count>& t,
                                               const inverse_key_schedule<KeyBits>& keys, uint4 block) {
    return detail::cipher<KeyBits>(t, keys, block);
}

}  // namespace warpaes::device
