// GCM of long messages under one key or a few keys in one pass over the texts: like gcm_long.cu, but for many messages,
// each with its own nonce, length and associated data.
//
// Windows. The blocks of a message are its associated data, its text and the block of lengths. The counters of the text
// determine windows of 256 blocks: block n of the text has counter n + 2. The windows of all messages form one
// sequence. Each group of four warps processes an equal share of the sequence, so all groups end at about the same
// time, whatever the lengths of the messages are. A share may begin and end within messages. A group multiplies the sum
// over its windows of a message by the power of H for the message's later windows, and adds the product to the
// message's sum in device memory. A second kernel computes the tags from the sums. In the first kernel, the other warps
// of a group would have to wait for the products.
//
// Lanes. In a window, lane 4g + q of warp w processes the blocks at positions j = 64 w + 32 i + 4g + q, for i = 0
// and 1. A(j) (ctr.cuh) stays in registers. J0 has counter 1, so E(J0) is the key stream for the position before the
// text.
//
// Powers. A block is multiplied by H^n if it is the n-th block from the end of the group's last window of the message.
// If `left` windows follow, n = 256 (left + 1) - 32 i - q - (64 w + 4g). The term in parentheses is the same for all
// blocks of a row. The powers omit this term, and a weight for each row corrects for it. The first block of a chunk is
// therefore multiplied by H^(256 * chunk), and the digest of the preceding chunk is added to this block first (Horner's
// rule). A last product with a power of 1 / H corrects for the positions after the lengths.
//
// Several keys. A thread block processes an equal share of the sequence, which is sorted by key. Its groups share the
// windows of each key equally, and the thread block replaces the powers when it reaches the next key. gcm_pass.cu
// describes the round keys.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/gcm_edges.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/kernels/notice.cuh"
#include "cuda/tuning/batch_gcm.hpp"

namespace warpaes::cuda {

namespace {

__device__ __forceinline__ void add_to(WindowsSum* sum, FieldElement e) {
    atomicXor(&sum->high, static_cast<unsigned long long>(e.high));
    atomicXor(&sum->low, static_cast<unsigned long long>(e.low));
}

/// A group's current part of a message. It is kept in shared memory, because all registers are needed for the blocks.
struct WindowsPart {
    const BatchGroup* group;
    std::uint64_t index;          ///< index of the message within the group
    std::uint64_t next;           ///< first window of the share's next part
    std::uint32_t count;          ///< number of windows of the part
    std::uint32_t behind;         ///< number of windows of the message after the part
    std::uint32_t whole, blocks;  ///< length of the text in whole blocks, and in blocks including a partial block
    std::uint32_t rest;           ///< number of bytes of the partial block
    uint4 between_halves;         ///< for store_half()

    [[nodiscard]] __device__ __forceinline__ BatchMessage message() const volatile { return {group, index}; }
    [[nodiscard]] __device__ __forceinline__ WindowsSum* sum_in(WindowsSum* sums) const volatile {
        return global(sums) + group->first_message + index;
    }
    [[nodiscard]] __device__ __forceinline__ uint4* between() volatile { return const_cast<uint4*>(&between_halves); }
    [[nodiscard]] __device__ __forceinline__ uint4* pad_in(uint4* pads) const volatile {
        return global(pads) + group->first_message + index;
    }
};
static_assert(sizeof(WindowsPart) <= GcmWindows::part_bytes);

/// Stores 64 consecutive blocks of a warp at any address, 32 at a time: `half` is 0 or 1. Each lane stores an aligned
/// block, which contains the end of the previous lane's block and the beginning of its own. `between` is shared memory
/// of the warp.
__device__ __forceinline__ void store_half(std::uint8_t* p, uint4 block, unsigned half, uint4* between) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % block_bytes);
    const unsigned lane = lane_id();
    if (past == 0) return store_block(p, block, 16);
    uint4 before;
    before.x = __shfl_up_sync(full_warp, block.x, 1);
    before.y = __shfl_up_sync(full_warp, block.y, 1);
    before.z = __shfl_up_sync(full_warp, block.z, 1);
    before.w = __shfl_up_sync(full_warp, block.w, 1);
    if (half == 0 && lane == warp_lanes - 1) *between = block;
    __syncwarp();
    if (half == 1 && lane == 0) before = *between;
    if (lane == (half == 0 ? 0 : warp_lanes - 1)) store_unaligned(p, block);
    if (half == 1 || lane != 0) store_block(p - past, block_from(before, block, unsigned{block_bytes} - past), 16);
}

/// Consecutive windows of a group of warps, in messages under the same key.
struct WindowsShare {
    const BatchGroup* groups;  ///< of the key's messages
    std::uint32_t group_count;
    std::uint64_t begin, end;
};

/// Finds the part that begins at window `at` of the launch and ends at `stop`, or earlier with its message. `group` is
/// the number of a group that begins at or before `at`, and is set to the number of the message's group.
__device__ __forceinline__ void find_part(const WindowsShare& share, volatile WindowsPart& part, std::uint32_t& group,
                                          std::uint64_t at, std::uint64_t stop) {
    group = walk_to_group<&BatchGroup::first_unit>(share, group, at);
    const BatchGroup& its = share.groups[group];
    const auto windows = static_cast<std::uint32_t>(GcmWindows::windows_of(its.length, its.aad_length));
    const auto of_group = static_cast<std::uint32_t>(at - its.first_unit);
    const std::uint32_t first = of_group % windows;
    const auto count = static_cast<std::uint32_t>(windows - first < stop - at ? windows - first : stop - at);
    __syncwarp();  // all lanes have read the previous part
    if (lane_id() == 0) {
        part.group = &its;
        part.index = of_group / windows;
        part.next = at + count;
        part.count = count;
        part.behind = windows - first - count;
        part.whole = static_cast<std::uint32_t>(its.length / block_bytes);
        part.blocks = static_cast<std::uint32_t>(blocks_of(its.length));
        part.rest = static_cast<std::uint32_t>(its.length % block_bytes);
    }
    __syncwarp();
}

/// Where a warp keeps its part, after the tables and the powers in shared memory.
template <typename H>
__device__ __forceinline__ volatile WindowsPart& part_of_warp() {
    using G = GcmWindows;
    return *reinterpret_cast<volatile WindowsPart*>(shared(
        shared_apart() + table_bytes<G::tables> + G::slots * H::slot_bytes + threadIdx.x / warp_lanes * G::part_bytes));
}

/// The round keys of a thread block: of the only key, or of one of a few keys. round_keys() must be called by all lanes
/// of a warp together.
struct OnlyKey {
    const std::uint32_t* words;
    __device__ __forceinline__ const std::uint32_t* round_keys() const { return words; }
};
struct OneOfFewKeys {
    const FewKeys& keys;
    std::uint32_t number;
    __device__ __forceinline__ const std::uint32_t* round_keys() const { return keys.words[same_in_warp(number)]; }
};

/// `powers` have been filled.
template <int Rounds, bool Encrypts, bool Aligned, typename Key, typename Tables, typename H>
__device__ __forceinline__ void process_windows(const WindowsShare& share, const Key& key,
                                                const GcmWindowWeights& weights, WindowsSum* sums, uint4* pads,
                                                const Tables& tables, const H& powers) {
    using G = GcmWindows;
    const unsigned of_block = threadIdx.x / warp_lanes, warp = of_block % G::together, lane = lane_id(), q = lane % 4;
    volatile WindowsPart& part = part_of_warp<H>();
    std::uint64_t at = share.begin;
    std::uint32_t group = at < share.end ? find_group<&BatchGroup::first_unit>(share, at) : 0;
    for (; at < share.end; at = part.next) {
        find_part(share, part, group, at, share.end);
        // The number of this warp's first block in the window; negative before the text.
        int first = static_cast<int>(((part.blocks + 2) / G::window + 1 - part.behind - part.count) * G::window - 2 +
                                     2 * warp_lanes * warp);
        const std::uint8_t* in;
        std::uint8_t* out;
        {
            const BatchMessage m = part.message();
            const std::int64_t bytes = (static_cast<std::int64_t>(first) + lane) * std::int64_t{block_bytes};
            in = global(m.group->input) + m.index * m.group->input_stride + bytes;
            out = global(m.group->output) + m.index * m.group->output_stride + bytes;
        }
        CounterPrefix<G::tables> prefix;
        uint4 a[2];
        RowCounts counts;
#pragma unroll 1
        for (std::uint32_t left = part.count; left-- != 0;
             first += G::window, in += G::window * block_bytes, out += G::window * block_bytes) {
            const std::uint32_t g = static_cast<std::uint32_t>(first + 2) / G::window;
            const bool begins = left + 1 == part.count;
            if (begins || g % 256 == 0) {
                const std::uint32_t* const k = key.round_keys();
                const BatchMessage m = part.message();
                const std::uint32_t j = 2 * warp_lanes * warp + lane;
                prefix.set(tables, nonce_block(*m.group, m.index, g / 256 << 16), k);
                a[0] = prefix.a(tables, j, k);
                a[1] = prefix.a(tables, j + warp_lanes, k);
            }
            uint4 hashed[2];
            // The neighbours of these blocks also belong to the text, so load_inner_block() may read them. After a
            // vote, all lanes are known to be here, and round keys can be in uniform registers.
            if (__all_sync(full_warp, first > 0 && static_cast<std::uint32_t>(first) + 2 * warp_lanes < part.whole)) {
                const std::uint32_t* const k = key.round_keys();
                uint4 text[2];
#pragma unroll
                for (unsigned i = 0; i < 2; ++i) {
                    const std::uint8_t* const from = in + i * warp_lanes * block_bytes;
                    text[i] = Aligned ? load_block_early(from, 16) : load_inner_block(from);
                }
                const uint4 b = prefix.b(tables, g % 256, k);
                hashed[0] = text[0];
                hashed[1] = text[1];
                // Not unrolled, because the compiler would compute a separate base address for every lookup.
#pragma unroll 1
                for (unsigned i = 0; i < 2; ++i) {
                    const uint4 here = i == 0 ? hashed[0] : hashed[1];
                    const uint4 result = rounds_from<false, Rounds, 3>(tables, (i == 0 ? a[0] : a[1]) ^ b, k) ^ here;
                    if constexpr (Aligned) {
                        store_block(out + i * warp_lanes * block_bytes, result, 16);
                    } else {
                        store_half(out + i * warp_lanes * block_bytes, result, i, part.between());
                    }
                    if (Encrypts && i == 0) hashed[0] = result;
                    if (Encrypts && i == 1) hashed[1] = result;
                }
            } else {
                const std::uint32_t* const k = key.round_keys();
                const uint4 b = prefix.b(tables, g % 256, k);
#pragma unroll 1
                for (unsigned i = 0; i < 2; ++i) {
                    const BatchMessage m = part.message();
                    const int number = first + static_cast<int>(lane + i * warp_lanes);
                    const auto block = static_cast<std::uint32_t>(number);  // wraps around before the text
                    const std::uint32_t shift = i * warp_lanes * unsigned{block_bytes}, alignment = Aligned ? 16 : 1;
                    const bool is_text = block < part.blocks, is_whole = block < part.whole;
                    uint4 here = is_whole  ? load_block(in + shift, alignment)
                                 : is_text ? load_part(in + shift, part.rest)
                                           : edge_at(m, number, part.blocks);
                    if (__any_sync(full_warp, is_text || number == -1)) {
                        uint4 result = rounds_from<false, Rounds, 3>(tables, (i == 0 ? a[0] : a[1]) ^ b, k);
                        if (number == -1) *part.pad_in(pads) = result;  // E(J0)
                        result = result ^ here;
                        if (is_whole) {
                            store_block(out + shift, result, alignment);
                        } else if (is_text) {
                            result = first_bytes(result, part.rest);
                            store_tail(out + shift, result, part.rest);
                        }
                        if (Encrypts && is_text) here = result;
                    }
                    if (i == 0) hashed[0] = here;
                    if (i == 1) hashed[1] = here;
                }
                __syncwarp();
            }
            const unsigned slot = 2 * (left % G::chunk) + 1;
            const bool starts_chunk = slot == G::slots - 1;
            if (starts_chunk && !begins) {
                const uint4 digest = counts.digest(q);
                if (q == 0) hashed[0] = hashed[0] ^ digest;
            }
            powers.begin();
            powers.multiply(counts, hashed[0], slot, !starts_chunk && !begins);
            powers.multiply(counts, hashed[1], slot - 1, true);
            powers.end();
        }
        FieldElement sum = product_by_four(element_of(counts.digest(q)), weights.rows[8 * warp + lane / 4]);
        for (unsigned lanes = 4; lanes < warp_lanes; lanes *= 2) {
            sum = sum ^ shuffle_xor(sum, static_cast<int>(lanes));
        }
        std::uint32_t behind = part.behind;
        for (unsigned digit = 0; behind != 0; ++digit, behind /= G::radix) {
            if (behind % G::radix != 0) sum = product_by_four(sum, weights.windows[digit][behind % G::radix]);
        }
        if (lane == 0) add_to(part.sum_in(sums), sum);
    }
}

template <int Rounds, bool Encrypts, bool Aligned>
__global__ void __launch_bounds__(GcmWindows::threads, 1)
    gcm_windows_kernel(const __grid_constant__ GcmWindowsParams p) {
    using G = GcmWindows;
    const SharedTables<G::tables> tables;
    const Powers<G::slots, has_wide_mma> powers(table_bytes<G::tables>);
    powers.fill(p.weights.powers);
    tables.fill(te0_table);  // ends with a barrier

    const std::uint64_t shares = std::uint64_t{gridDim.x} * G::groups;
    const std::uint64_t share = threadIdx.x / warp_lanes / G::together * std::uint64_t{gridDim.x} + blockIdx.x;
    process_windows<Rounds, Encrypts, Aligned>(
        {p.batch.groups, p.batch.group_count, p.batch.units * share / shares, p.batch.units * (share + 1) / shares},
        OnlyKey{p.batch.round_keys}, p.weights, p.sums, p.pads, tables, powers);
}

template <int Rounds, bool Encrypts, bool Aligned>
__global__ void __launch_bounds__(GcmWindows::threads, 1)
    gcm_windows_keys_kernel(const __grid_constant__ GcmWindowsKeysParams p, const __grid_constant__ FewKeys keys) {
    using G = GcmWindows;
    const SharedTables<G::tables> tables;
    const Powers<G::slots, has_wide_mma> powers(table_bytes<G::tables>);
    tables.fill(te0_table);
    wait_for_kernel_before();  // which computes the powers
    const std::uint64_t part = threadIdx.x / warp_lanes / G::together;
    const std::uint64_t stop = p.batch.units * (blockIdx.x + 1) / gridDim.x;
    std::uint64_t at = p.batch.units * blockIdx.x / gridDim.x;
    if (at >= stop) return;
    for (std::uint32_t run = find_in<&KeyRun::first_unit>(p.runs, p.run_count, at); at < stop; ++run) {
        const std::uint64_t next = run + 1 < p.run_count ? p.runs[run + 1].first_unit : p.batch.units;
        const std::uint64_t count = (next < stop ? next : stop) - at;
        const GcmWindowWeights& weights = p.weights[run];
        __syncthreads();  // all warps have used the previous powers
        powers.fill(weights.powers);
        __syncthreads();
        const KeyRun& its = p.runs[run];
        process_windows<Rounds, Encrypts, Aligned>({p.batch.groups + its.first_group, its.groups,
                                                    at + count * part / G::groups, at + count * (part + 1) / G::groups},
                                                   OneOfFewKeys{keys, run}, weights, p.sums, p.pads, tables, powers);
        at += count;
    }
}

/// Four lanes compute the tag of each message, and store or compare it. `weights_of(number)` returns the powers for a
/// message's key.
template <typename Params, typename WeightsOf>
__device__ __forceinline__ void settle_windows(const Params& p, const WeightsOf& weights_of) {
    const std::uint64_t lanes = global_threads();
    // All lanes of a warp take part in the products.
    for (std::uint64_t at = global_thread(); at - lane_id() < 4 * p.batch.messages; at += lanes) {
        const bool present = at / 4 < p.batch.messages;
        const std::uint64_t number = present ? at / 4 : p.batch.messages - 1;
        const BatchMessage m(p.batch, number);
        FieldElement sum{p.sums[number].high, p.sums[number].low};
        const GcmWindowWeights& weights = weights_of(number);
        const std::uint32_t after =
            GcmWindows::window - 1 - static_cast<std::uint32_t>(blocks_of(m.group->length) + 2) % GcmWindows::window;
        sum = product_by_four(product_by_four(sum, weights.after[0][after % 16]), weights.after[1][after / 16]);
        if (present && at % 4 == 0) (void)settle_tag(m, block_of(sum) ^ p.pads[number], p.decrypts != 0);
    }
}

__global__ void __launch_bounds__(ThreadEach::threads)
    gcm_settle_windows_kernel(const __grid_constant__ GcmWindowsParams p) {
    settle_windows(p, [&](std::uint64_t) -> const GcmWindowWeights& { return p.weights; });
}

__global__ void __launch_bounds__(ThreadEach::threads)
    gcm_settle_windows_keys_kernel(const __grid_constant__ GcmWindowsKeysParams p) {
    settle_windows(p, [&](std::uint64_t number) -> const GcmWindowWeights& {
        return p.weights[find_in<&KeyRun::first>(p.runs, p.run_count, number)];
    });
}

}  // namespace

Kernel<GcmWindowsParams> gcm_settle_windows_kernel_for() {
    return &gcm_settle_windows_kernel;
}

Kernel<GcmWindowsKeysParams> gcm_settle_windows_keys_kernel_for() {
    return &gcm_settle_windows_keys_kernel;
}

Kernel<GcmWindowsParams> gcm_windows_kernel_for(int rounds, Direction direction, bool aligned) {
    const bool encrypts = direction == Direction::encrypt;
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<GcmWindowsParams> {
        if (aligned)
            return encrypts ? &gcm_windows_kernel<Rounds, true, true> : &gcm_windows_kernel<Rounds, false, true>;
        return encrypts ? &gcm_windows_kernel<Rounds, true, false> : &gcm_windows_kernel<Rounds, false, false>;
    });
}

Kernel<GcmWindowsKeysParams, FewKeys> gcm_windows_keys_kernel_for(int rounds, Direction direction, bool aligned) {
    const bool encrypts = direction == Direction::encrypt;
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<GcmWindowsKeysParams, FewKeys> {
        if (aligned) {
            return encrypts ? &gcm_windows_keys_kernel<Rounds, true, true>
                            : &gcm_windows_keys_kernel<Rounds, false, true>;
        }
        return encrypts ? &gcm_windows_keys_kernel<Rounds, true, false>
                        : &gcm_windows_keys_kernel<Rounds, false, false>;
    });
}

}  // namespace warpaes::cuda
