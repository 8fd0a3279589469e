// GCM of many messages under one key or a few keys in one launch and one pass: each thread encrypts or decrypts blocks
// and passes their ciphertext from its registers to the tensor cores (ghash_mma.cuh).
//
// Rows. A warp processes eight rows. A message occupies R = 1, 2, 4 or 8 rows, whose 4R lanes process its blocks in
// turn: in step i, lane 4r + q of the message processes the block at position 4R i + 4r + q. The text begins at
// position 0. The associated data ends at position -1 and is preceded by zeros. The block of lengths follows the text.
// The rows of a group of four warps end in the same step, so a shorter message begins with more steps of zeros.
//
// Powers. GHASH multiplies the n-th block from the end by H^n. If s steps follow, the block of lane 4r + q has n =
// 4R (s + 1) - q - (4r + e), where e is the number of positions after the lengths in the last step. The term in
// parentheses is the same for all blocks of a row. The powers omit it, and a weight H^-(4r + e) corrects the sum of the
// row. If R is 1 and e is the same for all messages, the powers include this term, and no weights are needed. This is
// possible only if one chunk of powers suffices: the first block of every later chunk contains the digest of the
// preceding chunk (Horner's rule), so its power must be H^(4R * slots).
//
// A thread block processes tiles of messages. Within a tile, each group of four warps proceeds independently. E(J0) is
// computed for 32 messages at a time, from the next tiles of a warp.
//
// Several keys. The messages of a tile have the same key. A thread block processes consecutive tiles and replaces the
// powers when it reaches the next key. Round keys are kernel parameters, as with one key, and the number of the key is
// the same in all threads of the thread block. The compiler therefore loads round keys into uniform registers.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/gcm_edges.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/kernels/notice.cuh"
#include "cuda/tuning/batch_gcm.hpp"

namespace warpaes::cuda {

namespace {

/// The state after round 2 of a message's counters, apart from the last byte.
template <int Tables>
struct MessageCounter {
    std::uint32_t of = ~0u;  ///< `b` is for the counters that have this value when divided by 256
    std::uint32_t c0 = 0;
    uint4 b{};

    __device__ __forceinline__ void set(const SharedTables<Tables>& tables, const BatchMessage& m,
                                        std::uint32_t counter, const std::uint32_t* k) {
        of = counter >> 8;
        CounterPrefix<Tables> prefix;
        prefix.set(tables, nonce_block(*m.group, m.index, counter & 0xffff0000u), k);
        b = prefix.b(tables, of & 0xff, k);
        c0 = prefix.c0;
    }
};

/// Consecutive tiles of a thread block, whose messages have the same key.
struct PassTiles {
    const BatchGroup* groups;  ///< of the key's messages
    std::uint32_t group_count;
    std::uint64_t first, messages;    ///< number of the key's first message, and count of its messages
    std::uint32_t begin, end, every;  ///< numbers of the tiles, counted from the key's first tile
};

/// `k` contains the round keys, and `weights` are H^0, H^-1 …; `powers` have been filled.
template <int Rounds, bool Encrypts, typename Tables, typename H>
__device__ __forceinline__ void pass_tiles(const PassTiles& tiles, const PassRows& p, const std::uint32_t* k,
                                           const FieldElement* weights, const Tables& tables, const H& powers) {
    using G = GcmPass;
    const unsigned warp = threadIdx.x / warp_lanes, lane = lane_id(), g = lane / 4, q = lane % 4;
    const unsigned rows = 1u << p.log_rows, step = 4 * rows, in_warp = unsigned{G::rows_per_warp} >> p.log_rows;
    const unsigned of_warp = g >> p.log_rows, lane_of_message = lane % step;
    uint4* const pads = reinterpret_cast<uint4*>(shared_apart() + table_bytes<G::tables> + G::slots * H::slot_bytes) +
                        warp * warp_lanes;
    // The number of this warp's first message in a tile, counted from the key's first message.
    const auto first_message = [&](std::uint64_t tile) { return (tile * G::warps + warp) * in_warp; };

    std::uint32_t turn = 0;
    for (std::uint32_t tile = tiles.begin; tile < tiles.end; tile += tiles.every, ++turn) {
        // Computes E(J0) for the messages of the next `step` tiles, one per lane: `in_warp * step` is 32.
        if (turn % step == 0) {
            const std::uint64_t then =
                first_message(tile + std::uint64_t{lane / in_warp} * tiles.every) + lane % in_warp;
            uint4 pad{};
            if (then < tiles.messages) {
                const BatchMessage m(tiles, tiles.first + then);
                pad = rounds_in_a_loop<Rounds>(
                    tables, nonce_block(*m.group, m.index, 1) ^ make_uint4(k[0], k[1], k[2], k[3]), k);
            }
            __syncwarp();
            pads[lane] = pad;
            __syncwarp();
        }

        // The first message of a group is its longest.
        const std::uint64_t first = first_message(tile), first_of_group = first - warp % G::together * in_warp;
        if (first_of_group >= tiles.messages) continue;
        const bool present = first + of_warp < tiles.messages;
        const BatchMessage m(tiles, tiles.first + (present ? first + of_warp : tiles.messages - 1));
        const auto longest =
            static_cast<std::uint32_t>(blocks_of(BatchMessage(tiles, tiles.first + first_of_group).group->length));
        const BatchGroup& group = *m.group;
        const std::uint8_t* const in = global(group.input) + m.index * group.input_stride;
        std::uint8_t* const out = global(group.output) + m.index * group.output_stride;
        const std::uint32_t whole = present ? static_cast<std::uint32_t>(group.length / block_bytes) : 0;
        const std::uint32_t blocks = present ? static_cast<std::uint32_t>(blocks_of(group.length)) : 0;
        const auto rest = static_cast<std::uint32_t>(group.length % block_bytes);
        const std::uint32_t alignment = group.alignment;

        // The number of steps is even. In `own` of them, the message has text or lengths.
        std::uint32_t steps = p.aad_steps + longest / step + 1;
        steps += steps % 2;
        const std::uint32_t own = blocks / step + 1, after = own * step - 1 - blocks;
        int position = static_cast<int>(lane_of_message) - static_cast<int>((steps - own) * step);

        MessageCounter<G::tables> counter;
        RowCounts counts;
        bool add = false;
#pragma unroll 1
        for (std::uint32_t left = steps; left != 0; left -= 2, position += 2 * static_cast<int>(step)) {
            const auto here = static_cast<std::uint32_t>(position), next = here + step;  // wrap around below zero
            uint4 hashed[2];
            const auto key_stream = [&](std::uint32_t block) {
                const uint4 a = CounterPrefix<G::tables>::a(tables, counter.c0, block + 2, k);
                return rounds_from<false, Rounds, 3>(tables, a ^ counter.b, k);
            };
            const bool plain = here != 0 && here < whole && next + 1 < whole && (here + 2) >> 8 == counter.of &&
                               (next + 2) >> 8 == counter.of;
            if (__all_sync(full_warp, plain)) {
                const std::uint64_t at = std::uint64_t{here} * block_bytes;
                uint4 text[2];
#pragma unroll
                for (unsigned i = 0; i < 2; ++i) {
                    const std::uint8_t* const from = in + at + i * step * unsigned{block_bytes};
                    text[i] = alignment == 16 ? load_block_early(from, 16) : load_inner_block(from);
                }
#pragma unroll
                for (unsigned i = 0; i < 2; ++i) {
                    const uint4 result = key_stream(here + i * step) ^ text[i];
                    store_block(out + at + i * step * unsigned{block_bytes}, result, alignment);
                    hashed[i] = Encrypts ? result : text[i];
                }
            } else {
                // All loads are issued before the first one is waited for.
                const auto source = [&](std::uint32_t block) {
                    if (block < whole) return load_block_early(in + std::uint64_t{block} * block_bytes, alignment);
                    if (block < blocks) return load_part(in + std::uint64_t{block} * block_bytes, rest);
                    return edge_at(m, static_cast<int>(block), blocks);
                };
                hashed[0] = source(here);
                hashed[1] = source(next);
#pragma unroll 1
                for (unsigned i = 0; i < 2; ++i) {
                    const std::uint32_t block = i == 0 ? here : next;
                    if (block >= blocks) continue;
                    if ((block + 2) >> 8 != counter.of) counter.set(tables, m, block + 2, k);
                    std::uint8_t* const to = out + std::uint64_t{block} * block_bytes;
                    uint4 result = key_stream(block) ^ (i == 0 ? hashed[0] : hashed[1]);
                    if (block < whole) {
                        store_block(to, result, alignment);
                    } else {
                        result = first_bytes(result, rest);
                        store_tail(to, result, rest);
                    }
                    if (Encrypts && i == 0) hashed[0] = result;
                    if (Encrypts && i == 1) hashed[1] = result;
                }
                __syncwarp();
            }
            const unsigned slot = (left - 1) % G::slots;
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
        uint4 digest = counts.digest(q);
        if (p.weighted != 0) {
            FieldElement sum = product_by_four(element_of(digest), weights[after + lane_of_message - q]);
            for (unsigned lanes = 4; lanes < step; lanes *= 2) sum = sum ^ shuffle_xor(sum, static_cast<int>(lanes));
            digest = block_of(sum);
        }
        if (lane_of_message == 0 && present) {
            (void)settle_tag(m, digest ^ pads[turn % step * in_warp + of_warp], !Encrypts);
        }
    }
}

template <int Rounds, bool Encrypts>
__global__ void __launch_bounds__(GcmPass::threads, 1) gcm_pass_kernel(const __grid_constant__ GcmPassParams p) {
    using G = GcmPass;
    const SharedTables<G::tables> tables;
    const Powers<G::slots, has_wide_mma> powers(table_bytes<G::tables>);
    tables.fill(te0_table);
    powers.fill(p.powers);
    __syncthreads();
    pass_tiles<Rounds, Encrypts>(
        {p.batch.groups, p.batch.group_count, 0, p.batch.messages, blockIdx.x, p.tiles, gridDim.x}, p.rows,
        p.batch.round_keys, p.weights, tables, powers);
}

template <int Rounds, bool Encrypts>
__global__ void __launch_bounds__(GcmPass::threads, 1)
    gcm_pass_keys_kernel(const __grid_constant__ GcmPassKeysParams p, const __grid_constant__ FewKeys keys) {
    using G = GcmPass;
    const SharedTables<G::tables> tables;
    const Powers<G::slots, has_wide_mma> powers(table_bytes<G::tables>);
    tables.fill(te0_table);
    wait_for_kernel_before();  // which computes the powers
    std::uint32_t run = ~0u;
    for (std::uint32_t stop, tile = blockIdx.x * p.tiles_at_once; tile < p.tiles;
         tile = stop + (gridDim.x - 1) * p.tiles_at_once) {
        stop = tile + p.tiles_at_once;
        const std::uint32_t last = stop < p.tiles ? stop : p.tiles;
        while (tile < last) {
            const std::uint32_t next = same_in_warp(find_in<&KeyRun::first_tile>(p.runs, p.run_count, tile));
            const FieldElement* const factors = p.factors + std::size_t{next} * G::factors;
            if (next != run) {
                run = next;
                __syncthreads();  // all warps have used the previous powers
                powers.fill(factors);
                __syncthreads();
            }
            const std::uint32_t end_of_run =
                next + 1 < p.run_count ? same_in_warp(p.runs[next + 1].first_tile) : p.tiles;
            const std::uint32_t end = end_of_run < last ? end_of_run : last;
            const KeyRun& its = p.runs[next];
            const std::uint32_t first_tile = its.first_tile;
            pass_tiles<Rounds, Encrypts>({p.batch.groups + its.first_group, its.groups, its.first, its.messages,
                                          tile - first_tile, end - first_tile, 1},
                                         p.rows, keys.words[next], factors + HashKey::count, tables, powers);
            tile = end;
        }
    }
}

}  // namespace

Kernel<GcmPassParams> gcm_pass_kernel_for(int rounds, Direction direction) {
    const bool encrypts = direction == Direction::encrypt;
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<GcmPassParams> {
        return encrypts ? &gcm_pass_kernel<Rounds, true> : &gcm_pass_kernel<Rounds, false>;
    });
}

Kernel<GcmPassKeysParams, FewKeys> gcm_pass_keys_kernel_for(int rounds, Direction direction) {
    const bool encrypts = direction == Direction::encrypt;
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<GcmPassKeysParams, FewKeys> {
        return encrypts ? &gcm_pass_keys_kernel<Rounds, true> : &gcm_pass_keys_kernel<Rounds, false>;
    });
}

}  // namespace warpaes::cuda
