// Pseudorandom generators based on AES. Part of <warpaes/device.cuh>, whose rules apply.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/tables.cuh>

namespace warpaes::device {

namespace detail {

/// The sum of the round key word and the terms of a column from all rows except `Skip`: three lookups.
template <unsigned Skip, int Count>
__device__ __forceinline__ std::uint32_t column_without(const tables<Count>& t, std::uint32_t w0, std::uint32_t w1,
                                                        std::uint32_t w2, std::uint32_t w3, std::uint32_t key) {
    std::uint32_t sum = key;
    if constexpr (Skip != 0) sum ^= t.template lookup<0, 0>(w0);
    if constexpr (Skip != 1) sum ^= t.template lookup<1, 1>(w1);
    if constexpr (Skip != 2) sum ^= t.template lookup<2, 2>(w2);
    if constexpr (Skip != 3) sum ^= t.template lookup<3, 3>(w3);
    return sum;
}

/// Expands the key while the rounds run: keeps Nk words and computes each round key when it is needed.
template <int KeyBits, int Count>
class rolling_schedule {
public:
    __device__ __forceinline__ rolling_schedule(const tables<Count>& t, const cipher_key<KeyBits>& key) : t_(t) {
        WARPAES_UNROLL
        for (int i = 0; i < nk; ++i) w_[i] = key.words[i];
    }

    /// Returns the round key of round r. Call the operator with r = 0, 1, 2, … in order.
    __device__ __forceinline__ uint4 operator()(int r) {
        WARPAES_UNROLL
        for (int i = 4 * r; i < 4 * r + 4; ++i) {
            if (i >= nk) expand_word<KeyBits>(t_, w_, i);
        }
        return make_uint4(w_[4 * r % nk], w_[(4 * r + 1) % nk], w_[(4 * r + 2) % nk], w_[(4 * r + 3) % nk]);
    }

private:
    static constexpr int nk = KeyBits / 32;
    const tables<Count>& t_;
    std::uint32_t w_[nk];
};

}  // namespace detail

/// Computes a few blocks under a key that is not used for anything else: out[j] = E_key(counter ^ j), where j is in the
/// last byte of the block and runs from 0 to Blocks - 1; Blocks is 1, 2 or 4. If the counter, as a big-endian number,
/// is a multiple of Blocks (such as zero), these are the blocks counter, counter + 1, … of SP 800-38A, 6.5. The usual
/// PRG of GGM trees and distributed point functions uses counter = 0 and Blocks = 2.
///
/// Round keys are computed while the rounds run and are never stored. The blocks differ in one byte before round 1 and
/// in one column after it, and share the rest of the work. With 1, 2 and 4 blocks, each block costs
///     AES-128: 200, 167, 150    AES-192: 224, 195, 180    AES-256: 276, 237, 217
/// lookups, including key expansion, and about 3 instructions for each lookup. A thread needs at most 64 registers,
/// which allows 1,024 threads per block.
template <int KeyBits, int Blocks, int Count>
__device__ __forceinline__ void counter_prg(const tables<Count>& t, const cipher_key<KeyBits>& key, uint4 counter,
                                            uint4 (&out)[Blocks]) {
    static_assert(Blocks == 1 || Blocks == 2 || Blocks == 4, "1, 2 or 4 blocks a key");
    detail::rolling_schedule<KeyBits, Count> keys(t, key);
    const uint4 start = detail::add(counter, keys(0));
    int next = 1;
    if constexpr (Blocks == 1) {
        out[0] = start;
    } else {
        // Only byte 15 differs. ShiftRows moves it to column 0, and in round 2 moves column 0 to one row of every
        // column.
        const uint4 key1 = keys(1);
        const uint4 same = make_uint4(detail::column_without<3>(t, start.x, start.y, start.z, 0, key1.x),
                                      t.column(start.y, start.z, start.w, start.x, key1.y),
                                      t.column(start.z, start.w, start.x, start.y, key1.z),
                                      t.column(start.w, start.x, start.y, start.z, key1.w));
        const uint4 key2 = keys(2);
        const uint4 sums = make_uint4(detail::column_without<0>(t, 0, same.y, same.z, same.w, key2.x),
                                      detail::column_without<3>(t, same.y, same.z, same.w, 0, key2.y),
                                      detail::column_without<2>(t, same.z, same.w, 0, same.y, key2.z),
                                      detail::column_without<1>(t, same.w, 0, same.y, same.z, key2.w));
        WARPAES_UNROLL
        for (unsigned j = 0; j < Blocks; ++j) {
            const std::uint32_t column0 = same.x ^ t.template lookup<3, 3>(start.w ^ j << 24);
            out[j] = make_uint4(sums.x ^ t.template lookup<0, 0>(column0), sums.y ^ t.template lookup<3, 3>(column0),
                                sums.z ^ t.template lookup<2, 2>(column0), sums.w ^ t.template lookup<1, 1>(column0));
        }
        next = 3;
    }
    WARPAES_UNROLL
    for (int r = next; r < rounds<KeyBits>; ++r) {
        const uint4 round_key = keys(r);
        WARPAES_UNROLL
        for (unsigned j = 0; j < Blocks; ++j) out[j] = detail::inner_round(t, out[j], round_key);
    }
    const uint4 last_key = keys(rounds<KeyBits>);
    WARPAES_UNROLL
    for (unsigned j = 0; j < Blocks; ++j) out[j] = detail::last_round(t, out[j], last_key);
}

/// A thread's share of the CTR key stream (SP 800-38A, 6.5): blocks E_key(counter + first), E_key(counter + first +
/// stride), … with 128-bit big-endian addition modulo 2^128. For example
///     first = thread number, stride = number of threads: together the threads generate the key stream in order;
///     first = thread number * 2^32, stride = 1:          every thread has its own stream of 2^32 blocks.
/// The caller must make sure that no counter repeats under the same key. `t` and `keys` must outlive this object. A
/// block costs slightly more than encrypt_block.
template <int KeyBits, int Count>
class ctr_stream {
public:
    __device__ __forceinline__ ctr_stream(const tables<Count>& t, const key_schedule<KeyBits>& keys, uint4 counter,
                                          unsigned long long first, unsigned long long stride)
        : t_(t), keys_(keys), high_(number(counter.x, counter.y)), low_(number(counter.z, counter.w)), stride_(stride) {
        advance(first);
    }

    /// Returns the next block of the key stream.
    __device__ __forceinline__ uint4 next() {
        const uint4 block =
            make_uint4(swap(static_cast<std::uint32_t>(high_ >> 32)), swap(static_cast<std::uint32_t>(high_)),
                       swap(static_cast<std::uint32_t>(low_ >> 32)), swap(static_cast<std::uint32_t>(low_)));
        advance(stride_);
        return encrypt_block(t_, keys_, block);
    }

private:
    static __device__ __forceinline__ std::uint32_t swap(std::uint32_t v) { return __byte_perm(v, 0, 0x0123); }
    static __device__ __forceinline__ unsigned long long number(std::uint32_t first, std::uint32_t second) {
        return static_cast<unsigned long long>(swap(first)) << 32 | swap(second);
    }
    __device__ __forceinline__ void advance(unsigned long long by) {
        low_ += by;
        high_ += low_ < by;
    }

    const tables<Count>& t_;
    const key_schedule<KeyBits>& keys_;
    unsigned long long high_, low_, stride_;
};

}  // namespace warpaes::device
