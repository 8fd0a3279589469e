#include "cuda/kernels/batch_gcm.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/wipe.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

/// Completes GHASH of a long message whose text has been hashed: adds associated data and lengths. One thread per
/// message.
__global__ void __launch_bounds__(GcmBatch::other_threads) gcm_finish_kernel(const __grid_constant__ GcmBatchParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t number = p.first + global_thread(); number < p.end; number += threads) {
        const BatchMessage m(p, number);
        const BatchGroup& g = *m.group;
        const FieldElement h = element_of(m.key_slot()[key_slot_h]);
        const Multiplier times_h(h);
        FieldElement y = element_of(take(p.digests + number));
        if (g.aad_length != 0) {
            const std::uint8_t* const aad = g.aad + m.index * g.aad_stride;
            FieldElement sum;
            for (std::uint64_t at = 0; at < g.aad_length; at += block_bytes) {
                const std::uint64_t left = g.aad_length - at;
                const unsigned bytes = left < block_bytes ? static_cast<unsigned>(left) : unsigned{block_bytes};
                sum = times_h.times(sum ^ element_of(load_tail(aad + at, bytes)));
            }
            y = y ^ product(sum, power_of(h, blocks_of(g.length)));
        }
        p.digests[number] = block_of(times_h.times(y ^ length_block(g.aad_length, g.length)));
    }
}

/// Computes J0 of messages whose IV is not 12 bytes long (SP 800-38D, 7.1, step 2). One thread per message.
__global__ void __launch_bounds__(GcmBatch::most_j0_threads) gcm_j0_kernel(const __grid_constant__ GcmBatchParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t number = p.first + global_thread(); number < p.end; number += threads) {
        const BatchMessage m(p, number);
        const BatchGroup& g = *m.group;
        if (g.iv_length != 12) {
            const std::uint8_t* const iv = g.iv + m.index * g.iv_stride;
            const Multiplier h(element_of(m.key_slot()[key_slot_h]));
            FieldElement y;
            for (std::uint32_t at = 0; at < g.iv_length; at += block_bytes) {
                const std::uint32_t left = g.iv_length - at;
                y = h.times(y ^ element_of(load_tail(iv + at, left < block_bytes ? left : unsigned{block_bytes})));
            }
            p.j0s[number] = block_of(h.times(y ^ length_block(0, g.iv_length)));
        }
        // The thread of a group's first message rewrites the group's descriptor. It writes a copy, because other
        // threads still read the IVs.
        if (m.index == 0) {
            BatchGroup copy = g;
            if (g.iv_length != 12) {
                copy.iv = reinterpret_cast<const std::uint8_t*>(p.j0s + number);
                copy.iv_stride = block_bytes;
                copy.iv_length = block_bytes;
            }
            p.rewritten[m.group - p.groups] = copy;
        }
    }
}

/// Makes tags from digests. Decryption compares them, and wipes each output that is not authentic. Every part of a
/// message compares its tag again, which takes less time than waiting until others have done so.
__global__ void __launch_bounds__(WipeShape::threads) gcm_settle_kernel(const __grid_constant__ GcmSettleParams p) {
    const GcmBatchParams& batch = p.batch;
    wipe_parts(p.units, p.at_once, [&](std::uint64_t unit) -> Stretch {
        const bool cut = p.windows != 0;
        const std::uint32_t group = cut ? find_group<&BatchGroup::first_unit>(batch, unit)
                                        : find_group<&BatchGroup::first_message>(batch, batch.first + unit);
        const BatchGroup& g = batch.groups[group];
        std::uint64_t index = cut ? unit - g.first_unit : batch.first + unit - g.first_message, part = 0, parts = 1;
        if (cut) {
            parts = CounterParams::tasks_of(g.length, p.windows);
            part = index % parts;
            index /= parts;
        }
        const BatchMessage m(&g, index);
        const std::uint64_t number = g.first_message + index;
        const uint4 tag = batch.digests[number] ^ batch.pads[number];
        if (settle_tag(m, tag, batch.decrypts != 0, part == 0)) return {};
        return part_of(g.output + m.index * g.output_stride, g.length, part, parts);
    });
}

}  // namespace

Kernel<GcmBatchParams> ghash_batch_kernel_for(int lanes) {
    return lanes == 1   ? &ghash_batch_kernel<1, false>
           : lanes == 4 ? &ghash_batch_kernel<4, false>
                        : &ghash_batch_kernel<32, false>;
}

Kernel<GcmBatchParams> ghash_pieces_kernel_for() {
    return &ghash_batch_kernel<32, true>;
}

Kernel<GcmBatchParams> gcm_finish_kernel_for() {
    return &gcm_finish_kernel;
}

Kernel<GcmBatchParams> gcm_j0_kernel_for() {
    return &gcm_j0_kernel;
}

Kernel<GcmSettleParams> gcm_settle_kernel_for() {
    return &gcm_settle_kernel;
}

}  // namespace warpaes::cuda
