// The cipher on replicated, conflict-free T-tables in shared memory.
//
// Shared memory has 32 banks of 4 bytes. Lanes of a warp that read different words of the same bank cause a bank
// conflict and are served one after another. Therefore every table entry is stored 32 times, once in each bank, and a
// lane reads only its own bank: a lookup takes one pass for any indices. This makes lookups fast, and their timing
// independent of key and data.
//
// Row e is 256 bytes: T0[e] for 32 lanes, then T1[e] for 32 lanes. With four tables, rows of T0 | T1 fill the first 64
// KiB and rows of T2 | T3 the second 64 KiB. With two tables there is only the first half, and T2 and T3 are rotations
// of T0 and T1 by 16 bits; this layout is for GPUs with less than 128 KiB of shared memory per thread block. The offset
// of lane l's copy of T0[b] is then b * 256 + l * 4: byte 1 is b and byte 0 is 4l, and one PRMT combines both. T1, T2
// and T3 are at constant offsets, which the load instruction adds at no cost.
#pragma once

#include "aes/t_tables.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

inline constexpr unsigned table_half_bytes = 64 * 1024;

template <int Tables>
inline constexpr unsigned table_bytes = Tables*(table_half_bytes / 2);

struct TTable {
    std::uint32_t entry[256];
};

namespace detail {

constexpr TTable copy_table(const std::array<std::uint32_t, 256>& from) {
    TTable table{};
    for (unsigned i = 0; i < 256; ++i) table.entry[i] = from[i];
    return table;
}

}  // namespace detail

// In global memory, because constant memory serialises lanes that read different words.
static __device__ const TTable te0_table = detail::copy_table(te0);
static __device__ const TTable td0_table = detail::copy_table(td0);

__device__ __forceinline__ std::uint32_t rotl(std::uint32_t v, unsigned bits) {
    return __funnelshift_l(v, v, bits);
}

/// A lane's view of the tables.
template <int Tables>
class SharedTables {
    static_assert(Tables == 4 || Tables == 2);

public:
    /// `offset` is where the tables begin in the thread block's shared memory.
    __device__ __forceinline__ explicit SharedTables(unsigned offset = 0)
        : base_(dynamic_shared() + offset), lane4_(lane_id() * 4) {}

    /// Must be called by all threads of the block before any lookup; ends with a barrier.
    __device__ __forceinline__ void fill(const TTable& t0) const {
        write(t0, threadIdx.x, blockDim.x);
        __syncthreads();
    }

    /// Writes the share of thread `thread` out of `threads`, which must be a multiple of the warp size. The caller must
    /// then execute a barrier. Eight lanes each write 16 bytes of a 128-byte copy of an entry, so a warp writes two
    /// rows of two tables at a time.
    __device__ __forceinline__ void write(const TTable& t0, unsigned thread, unsigned threads) const {
        constexpr unsigned steps = 256 * (Tables / 2) * 16, at_once = 8;
        // Eight loads are in flight at a time, because eight take no longer than one.
        for (unsigned first = thread; first < steps; first += at_once * threads) {
            std::uint32_t v[at_once];
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k) v[k] = t0.entry[(first + k * threads) / 16 % 256];
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k) {
                const unsigned i = first + k * threads, row = i / 16, table = 2 * (row / 256) + (i % 16) / 8;
                const std::uint32_t w = rotl(v[k], 8 * table);
                if (i < steps) *reinterpret_cast<uint4*>(base_ + row * 256 + (i % 16) * 16) = make_uint4(w, w, w, w);
            }
        }
    }

    /// T_row[byte `Byte` of `word`]
    template <int Row, int Byte>
    __device__ __forceinline__ std::uint32_t lookup(std::uint32_t word) const {
        constexpr unsigned select = 0x5504u | (Byte << 4);  // bytes: 4l, the word's byte, 0, 0
        const std::uint32_t offset = __byte_perm(word, lane4_, select);
        constexpr int stored = Tables == 4 ? Row : Row % 2;
        constexpr unsigned table_offset = (stored / 2) * table_half_bytes + (stored % 2) * 128u;
        const std::uint32_t v = *reinterpret_cast<const std::uint32_t*>(base_ + offset + table_offset);
        return stored == Row ? v : rotl(v, 16);
    }

private:
    unsigned char* base_;
    std::uint32_t lane4_;
};

/// Returns the column from which ShiftRows moves row `row` to column `c`: column c + row of the state, or c - row in
/// the inverse cipher.
template <bool Inverse>
__device__ __forceinline__ std::uint32_t shifted(uint4 s, unsigned c, unsigned row) {
    return word_of(s, (Inverse ? c + 4 - row : c + row) % 4);
}

template <bool Inverse, int Tables>
__device__ __forceinline__ uint4 cipher_round(const SharedTables<Tables>& t, uint4 s, const std::uint32_t* key) {
    std::uint32_t next[4];
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) {
        next[c] = t.template lookup<0, 0>(shifted<Inverse>(s, c, 0)) ^
                  t.template lookup<1, 1>(shifted<Inverse>(s, c, 1)) ^
                  t.template lookup<2, 2>(shifted<Inverse>(s, c, 2)) ^
                  t.template lookup<3, 3>(shifted<Inverse>(s, c, 3)) ^ key[c];
    }
    return make_uint4(next[0], next[1], next[2], next[3]);
}

/// The table T0 alone, in 32 KiB: for short messages (short.cu), and for XTS decryption, which needs both ciphers
/// (xts.cuh). Rows are half as long as in the layouts with more tables, so an address takes one more shift, and T1, T2
/// and T3 are computed by rotating T0.
template <>
class SharedTables<1> {
public:
    __device__ __forceinline__ explicit SharedTables(unsigned offset = 0)
        : base_(dynamic_shared() + offset), lane8_(lane_id() * 8) {}

    /// Must be called by all threads of the block before any lookup; ends with a barrier.
    __device__ __forceinline__ void fill(const TTable& t0) const {
        fill(t0, [] {});
    }

    /// Like fill() above, but calls `meanwhile()` while a thread's first entries are loaded from memory.
    template <typename Meanwhile>
    __device__ __forceinline__ void fill(const TTable& t0, const Meanwhile& meanwhile) const {
        constexpr unsigned steps = 256 * 8, at_once = 8;
        for (unsigned first = threadIdx.x; first < steps; first += at_once * blockDim.x) {
            std::uint32_t v[at_once];
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k)
                v[k] = load_word_early(t0.entry + (first + k * blockDim.x) / 8 % 256);
            if (first == threadIdx.x) meanwhile();
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k) {
                const unsigned i = first + k * blockDim.x;
                if (i < steps) *reinterpret_cast<uint4*>(base_ + i * 16) = make_uint4(v[k], v[k], v[k], v[k]);
            }
        }
        __syncthreads();
    }

    template <int Row, int Byte>
    __device__ __forceinline__ std::uint32_t lookup(std::uint32_t word) const {
        constexpr unsigned select = 0x5504u | (Byte << 4);
        const std::uint32_t offset = __byte_perm(word, lane8_, select) / 2;
        return rotl(*reinterpret_cast<const std::uint32_t*>(base_ + offset), 8 * Row);
    }

private:
    unsigned char* base_;
    std::uint32_t lane8_;
};

/// The last round has no MixColumns, so it needs only the substituted bytes, which T0 also contains. te0[x] = (2s, s,
/// s, 3s), so s is byte 1. td0[x] = (14s, 9s, 13s, 11s), and 14 ^ 9 ^ 13 ^ 11 = 1, so s is the sum of all four bytes.
template <bool Inverse, int Tables>
__device__ __forceinline__ uint4 last_round(const SharedTables<Tables>& t, uint4 s, const std::uint32_t* key) {
    std::uint32_t out[4];
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) {
        const std::uint32_t w0 = t.template lookup<0, 0>(shifted<Inverse>(s, c, 0)),
                            w1 = t.template lookup<0, 1>(shifted<Inverse>(s, c, 1)),
                            w2 = t.template lookup<0, 2>(shifted<Inverse>(s, c, 2)),
                            w3 = t.template lookup<0, 3>(shifted<Inverse>(s, c, 3));
        if constexpr (!Inverse) {
            const std::uint32_t low = __byte_perm(w0, w1, 0x0051), high = __byte_perm(w2, w3, 0x0051);
            out[c] = __byte_perm(low, high, 0x5410) ^ key[c];
        } else {
            const std::uint32_t sum01 = __byte_perm(w0, w1, 0x5410) ^ __byte_perm(w0, w1, 0x7632);
            const std::uint32_t sum23 = __byte_perm(w2, w3, 0x5410) ^ __byte_perm(w2, w3, 0x7632);
            out[c] = __byte_perm(sum01, sum23, 0x6420) ^ __byte_perm(sum01, sum23, 0x7531) ^ key[c];
        }
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/// Rounds `First` … `Rounds` of the cipher (FIPS 197, 5.1) or of the equivalent inverse cipher (5.3.5). The caller
/// provides the matching tables and round keys.
template <bool Inverse, int Rounds, int First, int Tables>
__device__ __forceinline__ uint4 rounds_from(const SharedTables<Tables>& t, uint4 s, const std::uint32_t* keys) {
#pragma unroll
    for (int r = First; r < Rounds; ++r) s = cipher_round<Inverse>(t, s, keys + 4 * r);
    return last_round<Inverse>(t, s, keys + 4 * Rounds);
}

/// Rounds 1 … of the cipher as a rolled loop, for the few blocks that a kernel encrypts in addition to its main work:
/// for a short loop, few instructions have to be fetched into the instruction cache.
template <int Rounds, int Tables>
__device__ __forceinline__ uint4 rounds_in_a_loop(const SharedTables<Tables>& t, uint4 s, const std::uint32_t* keys) {
#pragma unroll 1
    for (int r = 1; r < Rounds; ++r) s = cipher_round<false>(t, s, keys + 4 * r);
    return last_round<false>(t, s, keys + 4 * Rounds);
}

template <bool Inverse, int Rounds, int Tables>
__device__ __forceinline__ uint4 cipher(const SharedTables<Tables>& t, uint4 block, const std::uint32_t* keys) {
    const uint4 whitened = block ^ make_uint4(keys[0], keys[1], keys[2], keys[3]);
    return rounds_from<Inverse, Rounds, 1>(t, whitened, keys);
}

}  // namespace warpaes::cuda
