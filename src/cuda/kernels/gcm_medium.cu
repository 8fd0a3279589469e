// GCM of one message of medium length in one launch, from the text to the tag.
//
// Every thread block processes a contiguous share of the message's whole blocks. It encrypts the share, then hashes it
// on the tensor cores (ghash_mma.cuh), reading the ciphertext from the caches. A row is a chunk or half a chunk. A warp
// has eight rows, and the last warp's last row ends where the share ends. Zero blocks at the beginning of the first row
// complete it; they do not change the sum. Decryption may be in place, so the share is hashed before it is decrypted.
//
// The digests are combined as described in gcm_end.cuh. The weight of a row is H^row_blocks to the power of the number
// of rows after it in the warp, times the power of H that accounts for the blocks after the text.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/gcm_end.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

template <int Rounds, int Tables, bool Wide>
__global__ void __launch_bounds__(GcmMedium::threads, 1) gcm_medium_kernel(const __grid_constant__ GcmPartsParams p) {
    let_next_kernel_begin();
    using G = GcmMedium;
    using H = Powers<G::slots, Wide && has_wide_mma>;
    const SharedTables<Tables> tables;
    const H powers(table_bytes<Tables>);
    const MessageEnd message(p, table_bytes<Tables> + G::slots * H::slot_bytes);
    const unsigned warp = threadIdx.x / warp_lanes, lane = lane_id(), g = lane / 4, q = lane % 4;

    // The share: blocks `begin` to `end` - 1.
    const std::uint64_t whole = p.bytes / block_bytes;
    const unsigned behind = gridDim.x - 1 - blockIdx.x;
    const std::uint64_t end = whole - behind * std::uint64_t{p.share};
    const std::uint64_t begin = blockIdx.x == 0 ? 0 : end - p.share;
    const std::uint32_t base = byte_swap(p.j0.w) + p.first_block;
    const std::uint64_t warp_blocks = 8 * p.row_blocks;  // number of blocks that a warp hashes

    message.clear();
    // If half of the threads suffice for the powers, the other half fills the tables at the same time.
    const unsigned slots = p.row_blocks / 4, for_powers = slots * warp_lanes <= G::threads / 2 ? G::threads / 2 : 0;
    if (for_powers == 0 || threadIdx.x < for_powers) powers.fill(p.powers, slots);
    if (threadIdx.x >= for_powers) tables.write(te0_table, threadIdx.x - for_powers, G::threads - for_powers);
    __syncthreads();

    message.begin_weights(static_cast<unsigned>((end - begin + warp_blocks - 1) / warp_blocks));
    FieldElement tail;  // the partial block
    bool has_tail = false;

    const auto encrypt_or_decrypt = [&] {
        // Counters form windows of 256 (see ctr.cuh); a warp processes 32 counters of a window. J0 has position `skew`,
        // and block i has position skew + 1 + i. J0, before the first block, and the counter of the partial block,
        // after the last whole block, are two additional counters.
        constexpr unsigned units = 256 / warp_lanes;
        const std::uint32_t skew = base & 0xffffu;
        const unsigned in_front = message.adds_pad() ? 1 : 0, at_end = message.has_tail() ? 1 : 0;
        const auto end_window = static_cast<std::uint32_t>((skew + 1 + end + at_end + 255) >> 8);
        const std::uint32_t j = warp % units * warp_lanes + lane;
        std::uint32_t prefix_of = ~0u;
        CounterPrefix<Tables> prefix;
        uint4 a{};
        for (std::uint32_t w = static_cast<std::uint32_t>((skew + 1 - in_front + begin) >> 8) + warp / units;
             w < end_window; w += G::warps / units) {
            // For positions before the message's first block, the index wraps around and is not valid. The index before
            // block 0 belongs to J0.
            const std::uint64_t index = std::uint64_t{w} * 256 + j - skew - 1;
            const bool is_mine = index - begin < end - begin;
            const bool is_pad = in_front != 0 && index + 1 == 0, is_tail = at_end != 0 && index == end;
            if (__ballot_sync(full_warp, is_mine || is_pad || is_tail) == 0) continue;
            uint4 text{};
            if (is_mine) text = load_block_early(p.input + index * block_bytes, p.alignment);
            if ((w >> 8) != prefix_of) {
                prefix_of = w >> 8;
                const std::uint32_t counter = (base & 0xffff0000u) + (prefix_of << 16);
                prefix.set(tables, make_uint4(p.j0.x, p.j0.y, p.j0.z, byte_swap(counter)), p.round_keys);
                a = prefix.a(tables, j, p.round_keys);
            }
            const uint4 state = a ^ prefix.b(tables, w & 0xff, p.round_keys);
            const uint4 key_stream = rounds_from<false, Rounds, 3>(tables, state, p.round_keys);
            if (is_mine) store_block(p.output + index * block_bytes, key_stream ^ text, p.alignment);
            if (is_pad) message.add_pad(key_stream);
            if (is_tail) {
                tail = message.partial_block(key_stream);
                has_tail = true;
            }
        }
    };

    FieldElement sum;  // digest of row g, in the row's four lanes
    const auto hash = [&] {
        // Block numbers before the message's first block are negative, hence the casts. Four warps return together,
        // because wide_mma requires four warps together.
        const std::uint64_t first = end - G::warps * warp_blocks;
        const std::uint64_t behind_four = first + (warp / 4 + 1) * 4 * warp_blocks;
        if (static_cast<std::int64_t>(behind_four) <= static_cast<std::int64_t>(begin)) return;
        const std::uint8_t* const text = p.encrypts ? p.output : p.input;
        std::uint64_t at = first + warp * warp_blocks + g * p.row_blocks + q;
        constexpr unsigned quads = G::half_row / 4;
        RowCounts counts;
#pragma unroll 1
        for (unsigned slot = p.row_blocks / 4; slot != 0; slot -= quads, at += G::half_row) {
            uint4 x[quads];
#pragma unroll
            for (unsigned u = 0; u < quads; ++u) {
                const std::uint64_t block = at + 4 * u;
                x[u] = static_cast<std::int64_t>(block) >= static_cast<std::int64_t>(begin)
                           ? load_block(text + block * block_bytes, p.alignment)
                           : make_uint4(0, 0, 0, 0);
            }
            powers.begin();
#pragma unroll
            for (unsigned u = 0; u < quads; ++u) {
                powers.multiply(counts, x[u], slot - 1 - u, u != 0 || 4 * slot != p.row_blocks);
            }
            powers.end();
        }
        sum = element_of(counts.digest(q));
    };

    // With the loop, there is only one copy of each lambda's code, although their order depends on the direction.
#pragma unroll 1
    for (unsigned step = 0; step < 2; ++step) {
        if ((step == 0) == p.encrypts) {
            encrypt_or_decrypt();
        } else {
            hash();
        }
        if (step == 0) __syncthreads();
    }

    message.add_tail(tail, has_tail);
    message.end(sum, warp + 1 == G::warps || (G::warps - 1 - warp) * warp_blocks < end - begin, true);
}

Kernel<GcmPartsParams> gcm_medium_kernel_for(int rounds, int tables, bool wide) {
    const auto choose = [&]<int Rounds, int Tables, bool Wide>() -> Kernel<GcmPartsParams> {
        return &gcm_medium_kernel<Rounds, Tables, Wide>;
    };
    return with_rounds_and_tables(rounds, tables, wide, choose);
}

}  // namespace warpaes::cuda
