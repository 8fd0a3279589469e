// GHASH on the binary tensor cores.
//
// Multiplication by a fixed power P of H is linear over GF(2), that is, a matrix of 128 x 128 bits. A chunk of blocks
// X_1 … X_L is hashed as one product of [X_1 … X_L] with the matrices of H^L … H^1, which binary_mma computes 256 bits
// at a time. The bits of the digest are the parities of the counts, and are extracted only at the end of the chunk.
//
// The basis. Let f(z) be the coefficient of x^127 in z, and write the digest as the bits y_n = f(x^n z), n = 0 … 127.
// Then row k, column n of the matrix is f(x^k P x^n), which depends only on k + n. The whole matrix is determined by
// 255 bits
//
//     s_i = f(x^i P),   s_(i+128) = s_(i+7) + s_(i+2) + s_(i+1) + s_i  (from x^128 = x^7 + x^2 + x + 1),
//
// and column n is the 128 bits starting at s_n. Therefore binary_mma needs no matrices in memory. Lane 4g + q has
// column 8m + g for m = 0 … 15. It loads the 32 bytes of s shifted by g bits; its operand for each m is a word of these
// bytes, m bytes further on, which takes one PRMT. A power occupies 256 bytes of shared memory, for the eight values of
// g, instead of 2 KiB, and 8 registers per lane instead of 64. On compute capability 9.0, the tensor cores read B
// directly from shared memory (wide_mma). There, the full matrices are stored, and building them in this way takes a
// microsecond.
//
// Conversion to y and back. Let t be the 128-bit number whose bit n is the coefficient of x^(127-n) of z (a block read
// as big-endian). Then x^n z has z_(127-n) at x^127; for n > 120, the reduction of x^128 and above adds more
// coefficients at that position, which results in
//
//     y = t ^ (t << 121) ^ (t << 126) ^ (t << 127)   (128 bits).
//
// The same map is its own inverse, because it leaves the bits below 121 unchanged.
//
// Rows. A warp processes eight independent rows of the message (gcm_params.cuh), each a chain of chunks. Lane 4g + q
// reads block q of every four blocks of row g with one 16-byte load, and the four words are operand A without further
// changes. Words 0 and 2 go to row g of A, and words 1 and 3 to row g + 8, with the same B. The products of words 1 and
// 3 therefore lack a factor x^32, which is applied at the end of the chunk. There, the digest is added to the row's
// next block (Horner's rule).
#pragma once

#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/mma.cuh"

namespace warpaes::cuda {

/// Converts between y and the field element as a big-endian number, in either direction.
__device__ __forceinline__ FieldElement dual(FieldElement t) {
    return {t.high ^ (t.low << 57) ^ (t.low << 62) ^ (t.low << 63), t.low};
}

/// Computes the sequence s of `power`, shifted by g bits: the bytes that column g of a tile needs, as words. The first
/// bit of each byte is its highest bit, as in a block.
__device__ __forceinline__ void sequence_of(FieldElement power, unsigned g, std::uint32_t (&v)[8]) {
    const FieldElement y = dual(power);
    // s_i + s_i+1 + s_i+2 + s_i+7 for 128 values of i at once; dual() adds the terms whose index exceeds 127.
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

/// Returns the four bytes of `v` that begin at byte `at`.
__device__ __forceinline__ std::uint32_t bytes_from(const std::uint32_t (&v)[8], unsigned at) {
    return at % 4 == 0 ? v[at / 4] : __byte_perm(v[at / 4], v[at / 4 + 1], 0x3210 + 0x1111 * (at % 4));
}

/// The counts for eight rows of the message and 128 columns; the counts of tile m begin at 4m.
struct RowCounts {
    std::uint32_t count[64];

    /// Returns the digest of row g as a block in memory order, in the four lanes of the row.
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
        // The products of words 1 and 3 lack a factor x^32. y_n of x^32 z is y_(n+32) of z, which the recurrence
        // determines for indices beyond 127.
        const auto later = [&](unsigned by) { return __funnelshift_r(y[1][0], y[1][1], by); };
        std::uint32_t sum[4] = {y[0][0] ^ y[1][1], y[0][1] ^ y[1][2], y[0][2] ^ y[1][3],
                                y[0][3] ^ y[1][0] ^ later(1) ^ later(2) ^ later(7)};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            sum[w] ^= __shfl_xor_sync(full_warp, sum[w], 1);
            sum[w] ^= __shfl_xor_sync(full_warp, sum[w], 2);
        }
        sum[3] ^= (sum[0] << 25) ^ (sum[0] << 30) ^ (sum[0] << 31);  // as dual() does
        return make_uint4(byte_swap(sum[3]), byte_swap(sum[2]), byte_swap(sum[1]), byte_swap(sum[0]));
    }
};

/// Products with the powers H^1 … H^(4 * Slots) in shared memory: slot i contains the powers 4i + 4 … 4i + 1, for four
/// blocks. This version uses binary_mma on the sequences s.
template <int Slots, bool Wide>
class Powers {
public:
    static constexpr unsigned slot_bytes = 1024;

    /// `offset` is where the powers begin in the thread block's shared memory.
    __device__ __forceinline__ explicit Powers(unsigned offset = 0)
        : at_(reinterpret_cast<uint4*>(dynamic_shared() + offset)) {}

    /// Must be called by all threads of the block, which must then execute a barrier. `powers` are H^1 …, and `slots`
    /// is the number of slots to fill.
    __device__ __forceinline__ void fill(const FieldElement* powers, unsigned slots = Slots) const {
        for (unsigned i = threadIdx.x; i < slots * warp_lanes; i += blockDim.x) {
            const unsigned slot = i / warp_lanes, lane = i % warp_lanes, g = lane / 4, q = lane % 4;
            std::uint32_t v[8];
            sequence_of(powers[4 * slot + 3 - q], g, v);
            at_[2 * slot * warp_lanes + lane] = make_uint4(v[0], v[1], v[2], v[3]);
            at_[(2 * slot + 1) * warp_lanes + lane] = make_uint4(v[4], v[5], v[6], v[7]);
        }
    }

    /// Adds the products of four blocks of each row to the counts, or replaces the counts by the products; this lane
    /// has block q of row g.
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

/// The version for wide_mma, which requires the full matrices.
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

/// A row of the message as one lane reads it: every fourth block.
struct RowReader {
    const std::uint8_t* at;   ///< this lane's block among the next four
    std::uint32_t missing;    ///< zero blocks at the beginning of the row, minus q
    std::uint32_t alignment;  ///< alignment of the text's address
    bool reverse;             ///< whether GHASH reverses the bytes of each block

    /// `text` has `blocks` blocks and is preceded by zero blocks, for a total of `of` blocks. The row consists of the
    /// `row_blocks` blocks that begin at `first`, or only of zeros if it is not `present`.
    __device__ __forceinline__ RowReader(const std::uint8_t* text, std::uint64_t blocks, std::uint64_t of,
                                         std::uint64_t first, std::uint64_t row_blocks, bool present, unsigned q,
                                         std::uint32_t its_alignment, bool reverses = false)
        : alignment(its_alignment), reverse(reverses) {
        const std::uint64_t zeros = of - blocks;
        at = text + (first + q) * block_bytes - zeros * block_bytes;
        const std::uint64_t here = zeros <= first ? 0 : zeros - first < row_blocks ? zeros - first : row_blocks;
        missing = static_cast<std::uint32_t>(present ? here : row_blocks);
        missing = missing > q ? missing - q : 0;
    }
    /// Returns this lane's block of quad `quad + ahead` (a quad is four blocks of the row); the row has `quads` quads.
    __device__ __forceinline__ uint4 load(std::uint32_t quad, int ahead, std::uint32_t quads) const {
        uint4 block{};
        if (4 * (quad + ahead) >= missing && quad + ahead < quads) {
            block = load_block(at + ahead * 4 * static_cast<int>(block_bytes), alignment);
        }
        return reverse ? reversed(block) : block;
    }
    /// Adds the part that load() omits to a block that load() returned for the same arguments.
    __device__ __forceinline__ uint4 with_edge(uint4 block, std::uint32_t, int, std::uint32_t) const { return block; }
    __device__ __forceinline__ void advance(int by) { at += by * 4 * static_cast<int>(block_bytes); }
};

/// Computes the digests of a warp's eight rows of 4 * `quads` blocks. The digest of row g is in the row's four lanes.
/// `meanwhile` is called while the first blocks are being loaded.
template <int Stages, int Batch, int Slots, bool Wide, typename Reader, typename Meanwhile>
__device__ __forceinline__ uint4 digest_of_rows(const Powers<Slots, Wide>& powers, Reader& reader, std::uint32_t quads,
                                                unsigned q, const Meanwhile& meanwhile) {
    constexpr unsigned ahead = Stages * Batch;
    static_assert(Slots % ahead == 0 && 4 * Slots <= HashKey::count);
    uint4 x[Stages][Batch];
#pragma unroll
    for (int u = 0; u < static_cast<int>(ahead); ++u) x[u / Batch][u % Batch] = reader.load(0, u, quads);
    meanwhile();
    RowCounts counts;
    bool add = false;
    uint4 digest{};
    for (std::uint32_t quad = 0; quad < quads; quad += ahead) {
        const unsigned slot = (quads - 1 - quad) % Slots;
#pragma unroll
        for (int s = 0; s < Stages; ++s) {
#pragma unroll
            for (int u = 0; u < Batch; ++u) x[s][u] = reader.with_edge(x[s][u], quad, s * Batch + u, quads);
            powers.begin();
#pragma unroll
            for (int u = 0; u < Batch; ++u) {
                powers.multiply(counts, x[s][u], slot - s * Batch - u, s + u != 0 || add);
            }
            powers.end();
#pragma unroll
            for (int u = 0; u < Batch; ++u) x[s][u] = reader.load(quad, (s + Stages) * Batch + u, quads);
        }
        reader.advance(ahead);
        add = slot != ahead - 1;
        if (!add) {
            digest = counts.digest(q);
            if (q == 0) x[0][0] = x[0][0] ^ digest;
        }
    }
    return digest;
}

/// How rows are read: aligned to 16 bytes, aligned with reversed bytes, or as the parameters specify.
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
    // All warps of a thread block run the same number of rounds, because wide_mma requires four warps together.
    const std::uint64_t rounds = (rows + global_warps() * rows_per_warp - 1) / (global_warps() * rows_per_warp);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t row = (round * global_warps() + global_warp()) * rows_per_warp + g;
        const std::uint64_t segment = row / p.rows;
        RowReader reader(p.text.data + segment * p.text.stride, p.text.bytes_of(segment) / block_bytes,
                         p.rows * p.row_blocks, row % p.rows * p.row_blocks, p.row_blocks, segment < p.text.count, q,
                         alignment, reverse);
        const uint4 digest = digest_of_rows<Stages, Batch>(powers, reader, quads, q, [] {});
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
