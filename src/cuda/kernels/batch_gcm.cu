// GHASH of many short GCM messages, each possibly under its own key: carry-less products (field.cuh) in a few lanes per
// message.
//
// GHASH reads a message as one row of blocks: associated data, text, lengths. Leading zeros, which do not change the
// sum, extend the row to whole steps. Lane l of L processes blocks l, L + l, 2L + l …: it applies Horner's rule with
// H^L, and finally multiplies by H^(L - l), which accounts for the blocks after its last block. Long messages are cut
// into pieces. Each piece is hashed like a row and then multiplied by the power of H that accounts for the blocks after
// the piece.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/field.cuh"
#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/wipe.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

/// The blocks of one message in the order in which GHASH reads them.
class GhashRow {
public:
    __device__ __forceinline__ GhashRow(const BatchGroup& g, std::uint64_t index, bool decrypts)
        : aad_(g.aad + index * g.aad_stride),
          text_(decrypts ? g.input + index * g.input_stride : g.output + index * g.output_stride),
          aad_bytes_(g.aad_length),
          text_bytes_(g.length),
          aad_blocks_(blocks_of(g.aad_length)),
          text_blocks_(blocks_of(g.length)),
          alignment_(g.alignment) {}

    [[nodiscard]] __device__ __forceinline__ std::uint64_t blocks() const { return aad_blocks_ + text_blocks_ + 1; }
    /// The whole blocks of text have the numbers [plain_begin(), plain_end()).
    [[nodiscard]] __device__ __forceinline__ std::uint64_t plain_begin() const { return aad_blocks_; }
    [[nodiscard]] __device__ __forceinline__ std::uint64_t plain_end() const {
        return aad_blocks_ + text_bytes_ / block_bytes;
    }
    /// Returns block `at` of the row, which must be a whole block of text.
    [[nodiscard]] __device__ __forceinline__ FieldElement plain(std::uint64_t at) const {
        return element_of(load_block(text_ + (at - aad_blocks_) * block_bytes, alignment_));
    }
    /// Returns any block of the row: associated data, text or lengths.
    [[nodiscard]] __device__ __forceinline__ FieldElement any(std::uint64_t block) const {
        if (block >= aad_blocks_ + text_blocks_) return length_block(aad_bytes_, text_bytes_);
        const bool of_text = block >= aad_blocks_;
        const std::uint64_t offset = (of_text ? block - aad_blocks_ : block) * block_bytes;
        const std::uint64_t left = (of_text ? text_bytes_ : aad_bytes_) - offset;
        return element_of(load_tail((of_text ? text_ : aad_) + offset,
                                    left < block_bytes ? static_cast<unsigned>(left) : unsigned{block_bytes}));
    }

private:
    const std::uint8_t* aad_;
    const std::uint8_t* text_;
    std::uint64_t aad_bytes_, text_bytes_, aad_blocks_, text_blocks_;
    std::uint32_t alignment_;
};

/// Returns h^n for n > 0. The time depends on n, which is public.
__device__ inline FieldElement power_of(FieldElement h, std::uint64_t n) {
    FieldElement result = h;
#pragma unroll 1
    for (int bit = 62 - __clzll(static_cast<long long>(n)); bit >= 0; --bit) {
        result = square(result);
        if (((n >> bit) & 1) != 0) result = product(result, h);
    }
    return result;
}

__device__ __forceinline__ std::uint64_t least(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
}

/// `Lanes` lanes per message, or one warp per piece. Encryption adds E(J0) and writes tags; decryption stores digests.
/// For a piece, the digest is added to the message's digest.
template <int Lanes, bool Pieces>
__global__ void __launch_bounds__(GcmBatch::ghash_threads, GcmBatch::ghash_blocks_each)
    ghash_batch_kernel(const __grid_constant__ GcmBatchParams p) {
    static_assert(warp_lanes % Lanes == 0 && (Lanes == warp_lanes || !Pieces));
    constexpr std::uint64_t per_warp = warp_lanes / Lanes;
    const unsigned lane = lane_id() % Lanes;
    const std::uint64_t warp = global_warp(), warps = global_warps();
    const std::uint64_t units = (p.end - p.first) * (Pieces ? p.pieces : 1);
    for (std::uint64_t first = warp * per_warp; first < units; first += warps * per_warp) {
        // Lanes without a message compute the values of the last message and do not store them.
        const std::uint64_t unit = first + lane_id() / Lanes;
        const bool present = unit < units;
        const std::uint64_t number = p.first + (Pieces ? unit / p.pieces : present ? unit : units - 1);
        const BatchMessage m(p, number);
        const GhashRow row(*m.group, m.index, p.decrypts != 0);
        const std::uint64_t begin = Pieces ? unit % p.pieces * p.piece_blocks : 0;
        const std::uint64_t end = Pieces ? least(begin + p.piece_blocks, row.blocks()) : row.blocks();
        if (Pieces && begin >= end) continue;

        // `own` is H^(L - l), and `power` becomes H^L.
        const FieldElement h = element_of(m.key_slot()[key_slot_h]);
        FieldElement power = h;
        const FieldElement own = times_power<Lanes>(h, power, Lanes - 1 - lane);
        const Multiplier skip(power);

        const std::uint64_t steps = (end - begin + Lanes - 1) / Lanes, missing = steps * Lanes - (end - begin);
        // The steps in which every lane has a whole block of text.
        const std::uint64_t plain_begin = row.plain_begin() > begin ? row.plain_begin() - begin : 0;
        const std::uint64_t plain_end = least(row.plain_end(), end);
        const std::uint64_t from = (plain_begin + missing + Lanes - 1) / Lanes;
        const std::uint64_t to = plain_end > begin ? (plain_end - begin + missing) / Lanes : 0;
        const std::uint64_t offset = begin + lane - missing;
        FieldElement y;
        std::uint64_t step = 0;
#pragma unroll 1
        while (step < steps) {
            if (step >= from && step < to) {
#pragma unroll 1
                for (; step < to; ++step) y = skip.times(y) ^ row.plain(step * Lanes + offset);
            } else {
                y = skip.times(y);
                if (step * Lanes + lane >= missing) y = y ^ row.any(step * Lanes + offset);
                ++step;
            }
        }
        __syncwarp();
        y = product(y, own);
        for (int lanes = Lanes / 2; lanes != 0; lanes /= 2) y = y ^ shuffle_xor(y, lanes);
        if constexpr (Pieces) {
            if (row.blocks() > end) y = product(y, power_of(h, row.blocks() - end));
            const uint4 digest = block_of(y);
            auto* const sum = reinterpret_cast<std::uint32_t*>(p.digests + number);
            if (lane < 4) atomicXor(sum + lane, word_of(digest, lane));
        } else if (lane == 0 && present) {
            if (p.decrypts != 0) {
                p.digests[number] = block_of(y);
            } else {
                (void)settle_tag(m, block_of(y) ^ take(p.pads + number), false);
            }
        }
        __syncwarp();
    }
}

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

/// Computes J0 for messages whose IV is not 12 bytes long (SP 800-38D, 7.1, step 2). One thread per message.
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
        // threads may still be reading the IVs.
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

/// Computes tags from digests. Decryption compares the tags, and wipes each output that is not authentic. Every part of
/// a message compares the tag again, which takes less time than waiting for another part.
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

__global__ void __launch_bounds__(WipeShape::threads) wipe_failed_kernel(const __grid_constant__ WipeFailedParams p) {
    if (*p.any_failed == 0) return;
    wipe_parts(p.units, p.at_once, [&](std::uint64_t unit) -> Stretch {
        const BatchGroup& g = p.groups[find_group<&BatchGroup::first_unit>(p, unit)];
        const std::uint64_t parts = GcmWindows::windows_of(g.length, g.aad_length), of_group = unit - g.first_unit;
        const std::uint64_t index = of_group / parts;
        if (g.failed[index] == 0) return {};
        return part_of(g.output + index * g.output_stride, g.length, of_group % parts, parts);
    });
}

}  // namespace

Kernel<WipeFailedParams> wipe_failed_kernel_for() {
    return &wipe_failed_kernel;
}

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
