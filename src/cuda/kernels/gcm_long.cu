// GCM of one long message in one launch and one pass: each thread encrypts or decrypts blocks and passes their
// ciphertext from its registers to the tensor cores (ghash_mma.cuh).
//
// Rows. A group consists of four warps, which process a window of 256 counters together. Each thread processes two of
// the window's blocks, i = 0 and 1. A thread has the same j in all windows (ctr.cuh): j = 128 i + 32 w + 4g + q in lane
// 4g + q of the group's warp w. In each step of wide_mma, the lane provides block q of the four blocks of row g. A row
// may consist of any blocks, as long as the power of H for a block depends only on q and the step.
//
// Powers. GHASH multiplies a block by H^n if it is the n-th block from the end, here the end of the thread block's
// share. If the group has `left` windows after this one, n = stride (left + 1) - 128 i - q - (256 group + 32 w + 4g).
// The term in parentheses is the same for all blocks of a row. The powers omit this term, and the weights at the end
// correct for it. The first block of a chunk is then multiplied by H^(stride * windows), and stride * windows is also
// the distance to the next chunk. Therefore the row's digest up to this chunk is added to that block (Horner's rule).
//
// Order of the windows. A thread block processes `share` consecutive windows; the first thread block processes the
// remainder. Its groups take turns, so that the last group processes the last window. Positions outside the message in
// the first and the last window are zero blocks. Zero blocks before the message do not change the sum. A power of 1 / H
// in the weights corrects for the zero blocks after it.
//
// While one group waits for its products, the other three groups perform table lookups.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/gcm_end.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

template <int Rounds, bool Encrypts>
__global__ void __launch_bounds__(GcmLong::threads, 1) gcm_long_kernel(const __grid_constant__ GcmPartsParams p) {
    let_next_kernel_begin();
    using G = GcmLong;
    using H = Powers<G::slots, has_wide_mma>;
    const SharedTables<G::tables> tables;
    const H powers(table_bytes<G::tables>);
    const MessageEnd message(p, table_bytes<G::tables> + G::slots * H::slot_bytes);
    const unsigned warp = threadIdx.x / warp_lanes, lane = lane_id(), q = lane % 4, group = warp / 4;

    const std::uint64_t whole = p.bytes / block_bytes;
    const std::uint32_t base = byte_swap(p.j0.w) + p.first_block;
    const std::uint32_t skew = base & 0xffffu;  // J0's position; block i has position skew + 1 + i
    const auto end_window = static_cast<std::uint32_t>((skew + 1 + whole + 255) >> 8);
    const std::uint32_t end = end_window - (gridDim.x - 1 - blockIdx.x) * p.share;
    const std::uint32_t begin = blockIdx.x == 0 ? (skew + 1) >> 8 : end - p.share;

    message.clear();
    powers.fill(p.powers);
    tables.fill(te0_table);  // ends with a barrier
    message.begin_pad_and_tail<Rounds>(tables, base);
    message.begin_weights(G::warps);

    const std::uint32_t windows = (end - begin + group) / G::groups;  // windows of this group
    std::uint32_t window = end - G::groups * windows + group;
    const std::uint32_t j = warp % 4 * warp_lanes + lane;
    const std::int64_t first = static_cast<std::int64_t>(window) * 256 + j - skew - 1;
    const std::uint8_t* in = p.input + first * static_cast<int>(block_bytes);
    std::uint8_t* out = p.output + first * static_cast<int>(block_bytes);
    std::uint32_t prefix_of = ~0u;
    CounterPrefix<G::tables> prefix;
    uint4 a[2];
    RowCounts counts;
    bool add = false;
#pragma unroll 1
    for (std::uint32_t left = windows; left-- != 0; window += G::groups) {
        const std::uint64_t index = std::uint64_t{window} * 256 + j - skew - 1;  // wraps around before the first block
        uint4 text[2];
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            text[i] = index + 128 * i < whole ? load_block(in + 128 * i * block_bytes, 16) : make_uint4(0, 0, 0, 0);
        }
        if ((window >> 8) != prefix_of) {
            prefix_of = window >> 8;
            const std::uint32_t counter = (base & 0xffff0000u) + (prefix_of << 16);
            prefix.set(tables, make_uint4(p.j0.x, p.j0.y, p.j0.z, byte_swap(counter)), p.round_keys);
            a[0] = prefix.a(tables, j, p.round_keys);
            a[1] = prefix.a(tables, j + 128, p.round_keys);
        }
        const uint4 b = prefix.b(tables, window & 0xff, p.round_keys);
        uint4 hashed[2];
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            const bool is_text = index + 128 * i < whole;
            uint4 result = rounds_from<false, Rounds, 3>(tables, a[i] ^ b, p.round_keys) ^ text[i];
            if (is_text) store_block(out + 128 * i * block_bytes, result, 16);
            if (!is_text) result = make_uint4(0, 0, 0, 0);
            hashed[i] = Encrypts ? result : text[i];
        }
        in += G::stride * block_bytes;
        out += G::stride * block_bytes;

        const unsigned slot = 2 * (left % G::windows) + 1;
        if (slot == G::slots - 1 && add) {
            const uint4 digest = counts.digest(q);
            if (q == 0) hashed[0] = hashed[0] ^ digest;
            add = false;
        }
        powers.begin();
        powers.multiply(counts, hashed[0], slot, add);
        powers.multiply(counts, hashed[1], slot - 1, true);
        powers.end();
        add = true;
    }
    FieldElement sum;
    if (windows != 0) sum = element_of(counts.digest(q));
    __syncthreads();
    message.end(sum, windows != 0, false);
}

Kernel<GcmPartsParams> gcm_long_kernel_for(int rounds, Direction direction) {
    const auto choose = [&]<int Rounds, int Tables, bool Encrypts>() -> Kernel<GcmPartsParams> {
        return &gcm_long_kernel<Rounds, Encrypts>;
    };
    return with_rounds_and_tables(rounds, GcmLong::tables, direction == Direction::encrypt, choose);
}

}  // namespace warpaes::cuda
