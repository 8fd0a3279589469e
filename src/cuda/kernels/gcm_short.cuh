// GCM of one short message in one launch. What counts is when the last block is done, as in short.cuh.
//
// GHASH is the sum of all blocks X_i, each times H to the power of what comes behind it: a thread has one block, and
// one product. Its weight is made while other warps encrypt, from a power within a group of 32 blocks, what passes over
// the groups behind that one, and over the thread blocks behind this one. A partial block is padded with zeros, and
// like the others; E(J0) is a thread's of the first thread block.
#pragma once

#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/gcm_end.cuh"

namespace warpaes::cuda {

/// A function that is called: threads that make weights bring its instructions for those that hash.
__device__ __attribute__((noinline)) inline FieldElement called_product(FieldElement a, FieldElement b) {
    return product(a, b);
}

template <int Rounds>
__global__ void __launch_bounds__(GcmShort::threads, 1) gcm_short_kernel(const __grid_constant__ GcmShortParams p) {
    using G = GcmShort;
    const auto whole = static_cast<std::uint32_t>(p.bytes / block_bytes);
    const auto rest = static_cast<unsigned>(p.bytes % block_bytes);
    const std::uint32_t blocks = whole + (rest != 0 ? 1 : 0);
    const unsigned behind = gridDim.x - 1 - blockIdx.x, thread = threadIdx.x, warp = thread / warp_lanes;
    // Wraps below the message's first block, and is then no valid index.
    const std::uint32_t block = blocks - (behind + 1) * G::share + thread;
    const bool has_block = thread < G::share && block < blocks, is_whole = has_block && block < whole;
    const bool has_pad = thread == G::share && blockIdx.x == 0 && p.tag;

    uint4 text{};
    if (is_whole) text = load_block_early(p.input + std::uint64_t{block} * block_bytes, p.alignment);
    const SharedTables<1> tables;
    tables.fill(te0_table);
    auto* const weights = reinterpret_cast<FieldElement*>(shared_apart() + table_bytes<1>);
    FieldElement* const sums = weights + G::share;

    constexpr unsigned first_for_weights = G::groups + 1;  // warp
    if (warp < first_for_weights) {
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
                sums[G::groups] = element_of(key_stream) ^ p.addend;
            }
        }
        if (thread == G::share && !has_pad) sums[G::groups] = {};
    } else {
        const unsigned group = warp - first_for_weights, lane = lane_id();
        if (behind * G::share + group * warp_lanes < blocks) {
            FieldElement weight = p.group_weights[group];
            const unsigned inner = behind % GcmMessage::radix, outer = behind / GcmMessage::radix;
            if (inner != 0) weight = called_product(weight, p.inner_weights[inner]);
            if (outer != 0) weight = called_product(weight, p.outer_weights[outer]);
            weights[group * warp_lanes + lane] = called_product(weight, p.powers[lane]);
        }
    }
    __syncthreads();

    if (warp < G::groups) {
        FieldElement y{};
        if (has_block) y = called_product(element_of(text), weights[G::share - 1 - thread]);
        __syncwarp();
        y = sum_over_warp(y);
        if (lane_id() == 0) sums[warp] = y;
    }
    __syncthreads();
    if (warp != 0) return;
    const FieldElement y = sum_over_warp(thread <= G::groups ? sums[thread] : FieldElement{});
    if (thread == 0) add_up(p, y);
}

}  // namespace warpaes::cuda
