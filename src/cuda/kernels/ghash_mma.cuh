// GHASH on the binary tensor cores.
//
// Multiplication by a fixed power P of H is linear over GF(2): a matrix of 128 x 128 bits, and a chunk of blocks
// X_1 … X_L is hashed as one product of [X_1 … X_L] with the matrices of H^L … H^1, which binary_mma takes 256 bits at
// a time: the digest's bits are the parities of the counts. Packing waits for the end of the chunk.
//
// Which basis. Let f(z) be the coefficient of x^127 in z, and write the digest as the bits y_n = f(x^n z), n = 0 … 127.
// Then row k, column n of the matrix is f(x^k P x^n): it depends on k + n alone. The whole matrix is 255 bits
//
//     s_i = f(x^i P),   s_(i+128) = s_(i+7) + s_(i+2) + s_(i+1) + s_i  (from x^128 = x^7 + x^2 + x + 1),
//
// of which column n takes 128 from n on. So a warp needs no matrices in memory: lane 4g + q, which has column 8m + g
// for m = 0 … 15, takes the 32 bytes of s shifted by g bits, and what it needs for each m is a word of them m bytes
// further on, one PRMT. A power takes 256 bytes of shared memory, for the eight g, instead of 2 KiB, and 8 words a lane
// instead of 64. On compute capability 9.0 the tensor cores read B from shared memory by themselves (wide_mma); there
// the matrices are written out, which by this way takes a microsecond.
//
// To y and back. With z as the 128-bit number t whose bit n is the coefficient of x^(127-n) (a block read as
// big-endian): x^n z has z_(127-n) at x^127, unless reduction brings more there: x^128 times x^(n-1-i) … gives for n >
// 120
//
//     y = t ^ (t << 121) ^ (t << 126) ^ (t << 127)   (128 bits),
//
// and the same once more undoes it, as bits below 121 are unchanged.
//
// Rows. A warp has eight independent rows of the message (gcm_params.cuh) in hand, each a chain of chunks; lane 4g + q
// reads block q of every four of row g, one 16-byte load, whose four words are the operand A as they are. Words 0 and 2
// fall into row g of A, words 1 and 3 into row g + 8, with the same B: the latter product lacks a factor x^32, which
// the end of the chunk brings in. There the digest is added to the row's next block, Horner's rule.
#pragma once

#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/mma.cuh"

namespace warpaes::cuda {

/// Between the field element as a big-endian number and y, in either direction.
__device__ __forceinline__ FieldElement dual(FieldElement t) {
    return {t.high ^ (t.low << 57) ^ (t.low << 62) ^ (t.low << 63), t.low};
}

/// The sequence s of `power`, shifted by g bits: the bytes that a column g of a tile needs, as words. A block's bytes
/// have their first bit at the top, so these have, too.
__device__ __forceinline__ void sequence_of(FieldElement power, unsigned g, std::uint32_t (&v)[8]) {
    const FieldElement y = dual(power);
    // s_i + s_i+1 + s_i+2 + s_i+7 for 128 values of i at once; where they reach beyond 127, dual() adds them.
    const FieldElement next = dual(
        {y.high ^ (y.high >> 1) ^ (y.high >> 2) ^ (y.high >> 7),
         y.low ^ ((y.low >> 1) | (y.high << 63)) ^ ((y.low >> 2) | (y.high << 62)) ^ ((y.low >> 7) | (y.high << 57))});
    const std::uint64_t s[5] = {y.low, y.high, next.low, next.high, 0};
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
        const auto low = static_cast<std::uint32_t>(s[i / 2] >> (32 * (i % 2)));
        const auto high = static_cast<std::uint32_t>(s[(i + 1) / 2] >> (32 * ((i + 1) % 2)));
        v[i] = byte_swap(__brev(__funnelshift_r(low, high, g)));
    }
}

/// Four bytes of `v` from byte `at` on.
__device__ __forceinline__ std::uint32_t bytes_from(const std::uint32_t (&v)[8], unsigned at) {
    return at % 4 == 0 ? v[at / 4] : __byte_perm(v[at / 4], v[at / 4 + 1], 0x3210 + 0x1111 * (at % 4));
}

/// The counts of eight rows of the message and 128 columns: of tile m from 4m on.
struct RowCounts {
    std::uint32_t count[64];

    /// The digest of row g as a block in memory order, in all its four lanes.
    __device__ __forceinline__ uint4 digest(unsigned q) const {
        std::uint32_t y[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                std::uint32_t bits[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const std::uint32_t* c = count + 16 * w + 2 * half + i;
                    bits[i] = __byte_perm(__byte_perm(c[0], c[4], 0x0040), __byte_perm(c[8], c[12], 0x0040), 0x5410) &
                              0x01010101u;
                }
                y[half][w] = (bits[0] | (bits[1] << 1)) << (2 * q);
            }
        }
        // Words 1 and 3 stand 32 bits too high: y_n of x^32 z is y_(n+32) of z, by the recurrence beyond 127.
        const auto later = [&](unsigned by) { return __funnelshift_r(y[1][0], y[1][1], by); };
        std::uint32_t sum[4] = {y[0][0] ^ y[1][1], y[0][1] ^ y[1][2], y[0][2] ^ y[1][3],
                                y[0][3] ^ y[1][0] ^ later(1) ^ later(2) ^ later(7)};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            sum[w] ^= __shfl_xor_sync(full_warp, sum[w], 1);
            sum[w] ^= __shfl_xor_sync(full_warp, sum[w], 2);
        }
        sum[3] ^= (sum[0] << 25) ^ (sum[0] << 30) ^ (sum[0] << 31);  // dual()
        return make_uint4(byte_swap(sum[3]), byte_swap(sum[2]), byte_swap(sum[1]), byte_swap(sum[0]));
    }
};

/// Products with the powers H^1 … H^(4 * Slots) out of shared memory: slot i has those of four blocks, 4i + 4 … 4i + 1.
/// Here by binary_mma, from the sequences.
template <int Slots, bool Wide>
class Powers {
public:
    static constexpr unsigned slot_bytes = 1024;

    /// `offset`: where in the thread block's shared memory.
    __device__ __forceinline__ explicit Powers(unsigned offset = 0)
        : at_(reinterpret_cast<uint4*>(dynamic_shared() + offset)) {}

    /// All threads of the block; a barrier has to follow. `powers`: H^1 … `slots`: how many are wanted.
    __device__ __forceinline__ void fill(const FieldElement* powers, unsigned slots = Slots) const {
        for (unsigned i = threadIdx.x; i < slots * warp_lanes; i += blockDim.x) {
            const unsigned slot = i / warp_lanes, lane = i % warp_lanes, g = lane / 4, q = lane % 4;
            std::uint32_t v[8];
            sequence_of(powers[4 * slot + 3 - q], g, v);
            at_[2 * slot * warp_lanes + lane] = make_uint4(v[0], v[1], v[2], v[3]);
            at_[(2 * slot + 1) * warp_lanes + lane] = make_uint4(v[4], v[5], v[6], v[7]);
        }
    }

    /// Adds four blocks of each row, of which this lane has block q of row g; or begins with them.
    __device__ __forceinline__ void multiply(RowCounts& counts, uint4 block, unsigned slot, bool add) const {
        const unsigned lane = lane_id();
        const uint4 low = at_[2 * slot * warp_lanes + lane], high = at_[(2 * slot + 1) * warp_lanes + lane];
        const std::uint32_t v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        if (!add) {
#pragma unroll
            for (int i = 0; i < 64; ++i) counts.count[i] = 0;
        }
#pragma unroll
        for (unsigned m = 0; m < 16; ++m) {
            auto& tile = reinterpret_cast<std::uint32_t(&)[4]>(counts.count[4 * m]);
            binary_mma(tile, block.x, block.y, block.z, block.w, bytes_from(v, m), bytes_from(v, m + 8));
        }
    }

    __device__ __forceinline__ void begin() const {}
    __device__ __forceinline__ void end() const {}

private:
    uint4* at_;
};

/// And here by wide_mma, which wants the matrices themselves.
template <int Slots>
class Powers<Slots, true> {
public:
    static constexpr unsigned slot_bytes = 4096;

    __device__ __forceinline__ explicit Powers(unsigned offset = 0)
        : at_(dynamic_shared() + offset), matrices_(matrix_address(offset)) {}

    __device__ __forceinline__ void fill(const FieldElement* powers, unsigned slots = Slots) const {
        for (unsigned i = threadIdx.x; i < slots * warp_lanes; i += blockDim.x) {
            const unsigned slot = i / warp_lanes, lane = i % warp_lanes, g = lane / 4, q = lane % 4;
            std::uint32_t v[8];
            sequence_of(powers[4 * slot + 3 - q], g, v);
            auto* words = reinterpret_cast<std::uint32_t*>(at_ + slot * slot_bytes) + lane;
#pragma unroll
            for (unsigned m = 0; m < 16; ++m) {
                words[m * warp_lanes] = bytes_from(v, m);
                words[m * warp_lanes + 512] = bytes_from(v, m + 8);
            }
        }
        wide_fence();
    }

    __device__ __forceinline__ void multiply(RowCounts& counts, uint4 block, unsigned slot, bool add) const {
        wide_mma(counts.count, block, matrices_ + slot * slot_bytes, add);
    }

    __device__ __forceinline__ void begin() const {
        wide_begin();
    }
    __device__ __forceinline__ void end() const {
        wide_end();
    }

private:
    unsigned char* at_;
    MatrixAddress matrices_;
};

/// A row of the message, as one lane reads it: every fourth block.
struct RowReader {
    const std::uint8_t* at;  ///< of the next four blocks, where this lane's is
    std::uint32_t missing;   ///< blocks before this lane's first

    /// `text`: `blocks` blocks, with zeros in front `of` ones. The row has `row_blocks` of them from `first` on, or
    /// only zeros if it is not `present`.
    __device__ __forceinline__ RowReader(const std::uint8_t* text, std::uint64_t blocks, std::uint64_t of,
                                         std::uint64_t first, std::uint64_t row_blocks, bool present, unsigned q) {
        const std::uint64_t zeros = of - blocks;
        at = text + (first + q) * block_bytes - zeros * block_bytes;
        const std::uint64_t here = zeros <= first ? 0 : zeros - first < row_blocks ? zeros - first : row_blocks;
        missing = static_cast<std::uint32_t>(present ? here : row_blocks);
        missing = missing > q ? missing - q : 0;
    }
};

/// The digests of a warp's eight rows of `quads` times four blocks: row g's in its lane q = 0.
template <int Stages, int Batch, int Slots, bool Wide>
__device__ __forceinline__ uint4 digest_of_rows(const Powers<Slots, Wide>& powers, RowReader& reader,
                                                std::uint32_t quads, std::uint32_t alignment, unsigned q,
                                                bool reverse = false) {
    constexpr unsigned ahead = Stages * Batch;
    static_assert(Slots % ahead == 0 && 4 * Slots <= HashKey::count);
    const auto load = [&](std::uint32_t quad, int ahead) {
        uint4 block{};
        if (4 * (quad + ahead) >= reader.missing && quad + ahead < quads) {
            block = load_block(reader.at + ahead * 4 * static_cast<int>(block_bytes), alignment);
        }
        return reverse ? reversed(block) : block;
    };
    uint4 x[Stages][Batch];
#pragma unroll
    for (int u = 0; u < static_cast<int>(ahead); ++u) x[u / Batch][u % Batch] = load(0, u);
    RowCounts counts;
    bool add = false;
    uint4 digest{};
    for (std::uint32_t quad = 0; quad < quads; quad += ahead) {
        const unsigned slot = (quads - 1 - quad) % Slots;
#pragma unroll
        for (int s = 0; s < Stages; ++s) {
            powers.begin();
#pragma unroll
            for (int u = 0; u < Batch; ++u) {
                powers.multiply(counts, x[s][u], slot - s * Batch - u, s + u != 0 || add);
            }
            powers.end();
#pragma unroll
            for (int u = 0; u < Batch; ++u) x[s][u] = load(quad, (s + Stages) * Batch + u);
        }
        reader.at += ahead * 4 * block_bytes;
        add = slot != ahead - 1;
        if (!add) {
            digest = counts.digest(q);
            if (q == 0) x[0][0] = x[0][0] ^ digest;
        }
    }
    return digest;
}

/// How rows are read: on 16 bytes, also reversed, or as the parameters say.
enum class Rows { aligned, reversed, any };

template <int Stages, int Batch, int Slots, int Threads, Rows As, bool Wide>
__global__ void __launch_bounds__(Threads, 1) ghash_mma_kernel(const __grid_constant__ RowParams p) {
    const std::uint32_t alignment = As == Rows::any ? p.text.alignment : 16;
    const bool reverse = As == Rows::any ? p.text.reversed : As == Rows::reversed;
    const Powers<Slots, Wide && has_wide_mma> powers;
    powers.fill(p.powers);
    __syncthreads();

    constexpr unsigned rows_per_warp = 8;
    const unsigned lane = lane_id(), g = lane / 4, q = lane % 4;
    const auto quads = static_cast<std::uint32_t>(p.row_blocks / 4);
    const std::uint64_t rows = p.text.count * p.rows;
    // The warps of a thread block stay together to the end: wide_mma takes four.
    const std::uint64_t rounds = (rows + global_warps() * rows_per_warp - 1) / (global_warps() * rows_per_warp);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t row = (round * global_warps() + global_warp()) * rows_per_warp + g;
        const std::uint64_t segment = row / p.rows;
        RowReader reader(p.text.data + segment * p.text.stride, p.text.bytes_of(segment) / block_bytes,
                         p.rows * p.row_blocks, row % p.rows * p.row_blocks, p.row_blocks, segment < p.text.count, q);
        const uint4 digest = digest_of_rows<Stages, Batch>(powers, reader, quads, alignment, q, reverse);
        if (q == 0 && row < rows) {
            if (p.digests != nullptr) {
                p.digests[row] = digest;
            } else {
                finish_segment(p.text, p.finish, row, element_of(digest));
            }
        }
        __syncwarp();
    }
}

}  // namespace warpaes::cuda
