// GCM of one short message in one launch, without tensor cores. The goal is a low latency for the last block, as in
// short.cu.
//
// GHASH is the sum of all blocks X_i, each multiplied by its weight, the power of H that accounts for the data after
// the block. Each thread of the first warps encrypts or decrypts one block and computes one product. In the meantime,
// the same number of other warps compute the weights. A weight is the power of H for the blocks after it in a group of
// 32, times the powers for the groups and the thread blocks after it. A partial block is padded with zeros and then
// processed like the other blocks. A warp between the two sets computes E(J0) in the first thread block.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/gcm_end.cuh"
#include "cuda/kernels/wipe.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

/// This function is not inlined, so that the warps that compute weights load its instructions into the instruction
/// cache before the other warps need them.
__device__ __attribute__((noinline)) inline FieldElement called_product(FieldElement a, FieldElement b) {
    return product(a, b);
}

template <int Rounds>
__global__ void __launch_bounds__(GcmShort::most_threads, 1)
    gcm_short_kernel(const __grid_constant__ GcmShortParams p) {
    let_next_kernel_begin();
    const unsigned share = p.share, groups = share / warp_lanes;
    const auto whole = static_cast<std::uint32_t>(p.bytes / block_bytes);
    const auto rest = static_cast<unsigned>(p.bytes % block_bytes);
    const std::uint32_t blocks = whole + (rest != 0 ? 1 : 0);
    const unsigned behind = gridDim.x - 1 - blockIdx.x, thread = threadIdx.x, warp = thread / warp_lanes;
    // For positions before the message's first block, the number wraps around and is not a valid index.
    const std::uint32_t block = blocks - (behind + 1) * share + thread;
    const bool has_block = thread < share && block < blocks, is_whole = has_block && block < whole;
    const bool has_pad = thread == share && blockIdx.x == 0 && p.tag;

    uint4 text{};
    if (is_whole) text = load_block_early(p.input + std::uint64_t{block} * block_bytes, p.alignment);
    const SharedTables<1> tables;
    tables.fill(te0_table);
    auto* const weights = reinterpret_cast<FieldElement*>(shared_apart() + table_bytes<1>);
    FieldElement* const sums = weights + share;

    if (warp <= groups) {
        if (has_block || has_pad) {
            const std::uint32_t counter = byte_swap(p.j0.w) + (has_pad ? 0 : p.first_block + 1 + block);
            const uint4 key_stream =
                cipher<false, Rounds>(tables, make_uint4(p.j0.x, p.j0.y, p.j0.z, byte_swap(counter)), p.round_keys);
            if (is_whole) {
                const uint4 out = key_stream ^ text;
                store_block(p.output + std::uint64_t{block} * block_bytes, out, p.alignment);
                if (p.encrypts) text = out;
            } else if (has_block) {
                text = cipher_tail(p, whole, rest, key_stream);
            } else {
                sums[groups] = element_of(key_stream) ^ p.addend;
            }
        }
        if (thread == share && !has_pad) sums[groups] = {};
    } else {
        const unsigned group = warp - groups - 1, lane = lane_id();
        if (behind * share + group * warp_lanes < blocks) {
            FieldElement weight = p.group_weights[group];
            if (behind != 0) weight = called_product(weight, block_weight(p, behind, called_product));
            weights[group * warp_lanes + lane] = called_product(weight, p.powers[lane]);
        }
    }
    __syncthreads();

    // The last warp computes no product, so its fence does not delay a product.
    const bool adds_up = warp == 2 * groups;
    if (adds_up && lane_id() == 0) begin_add_up(p);
    if (warp < groups) {
        FieldElement y{};
        if (has_block) y = called_product(element_of(text), weights[share - 1 - thread]);
        __syncwarp();
        y = sum_over_warp(y);
        if (lane_id() == 0) sums[warp] = y;
    }
    __syncthreads();
    const bool checks = p.check.status != nullptr;
    if (!adds_up && !checks) return;
    bool is_last = false, wrong = false;
    if (adds_up) {
        FieldElement y = sum_over_warp(lane_id() <= groups ? sums[lane_id()] : FieldElement{});
        if (lane_id() == 0 && !checks) add_up(p, y);
        is_last = checks && lane_id() == 0 && has_sum(p, y);
        const uint4 tag = shuffle(block_of(y), 0);
        wrong = __any_sync(full_warp, is_last) && lane_id() < TagCheck::words &&
                is_wrong(p.check, lane_id(), word_of(tag, lane_id()));
        wrong = __any_sync(full_warp, wrong);
        if (is_last) *p.check.status = wrong ? p.check.bad : 0;
    }
    if (!checks) return;
    // The other thread blocks have stored their text before they added their shares.
    if (__syncthreads_or(wrong)) wipe_by_block(p.output, p.bytes);
    if (is_last) give_notice(p.release);
}

Kernel<GcmShortParams> gcm_short_kernel_for(int rounds) {
    return with_rounds(rounds, []<int Rounds>() -> Kernel<GcmShortParams> { return &gcm_short_kernel<Rounds>; });
}

}  // namespace warpaes::cuda
