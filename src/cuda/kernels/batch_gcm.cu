#include "cuda/kernels/batch_gcm.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

/// Completes GHASH of a long message whose text has been hashed: adds associated data and lengths. One thread per
/// message.
__global__ void __launch_bounds__(128) gcm_finish_kernel(const __grid_constant__ GcmBatchParams p) {
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
__global__ void __launch_bounds__(256) gcm_j0_kernel(const __grid_constant__ GcmBatchParams p) {
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

/// Makes tags from digests. Decryption compares them, and a whole warp wipes each output that is not authentic.
__global__ void __launch_bounds__(256) gcm_settle_kernel(const __grid_constant__ GcmBatchParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t first = p.first + global_thread() - lane_id(); first < p.end; first += threads) {
        const std::uint64_t number = first + lane_id();
        bool authentic = true;
        if (number < p.end) {
            const BatchMessage m(p, number);
            authentic = settle_tag(m, take(p.digests + number) ^ take(p.pads + number), p.decrypts != 0);
        }
        for (unsigned wrong = __ballot_sync(full_warp, !authentic); wrong != 0; wrong &= wrong - 1) {
            const BatchMessage m(p, first + static_cast<unsigned>(__ffs(static_cast<int>(wrong)) - 1));
            std::uint8_t* const out = m.group->output + m.index * m.group->output_stride;
            for (std::uint64_t at = lane_id(); at < m.group->length; at += warp_lanes) out[at] = 0;
        }
    }
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

Kernel<GcmBatchParams> gcm_settle_kernel_for() {
    return &gcm_settle_kernel;
}

}  // namespace warpaes::cuda
