// GCM of many short messages, each perhaps under a key of its own: GHASH by carry-less products (field.cuh), a few
// lanes a message, and what comes before and after.
//
// GHASH takes a message as one row of blocks: associated data, text, lengths. With as many zeros in front as whole
// steps take, which change nothing, lane l of L has blocks l, L + l, 2L + l …: Horner's rule with H^L, and in the end
// H^(L - l), which passes over the blocks behind its last.
#pragma once

#include "cuda/kernels/batch_gcm_params.cuh"
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/field.cuh"
#include "cuda/kernels/ghash.cuh"

namespace warpaes::cuda {

/// The blocks of one message as GHASH takes them.
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
    /// Whole blocks of text: [begin, end).
    [[nodiscard]] __device__ __forceinline__ std::uint64_t plain_begin() const { return aad_blocks_; }
    [[nodiscard]] __device__ __forceinline__ std::uint64_t plain_end() const {
        return aad_blocks_ + text_bytes_ / block_bytes;
    }
    [[nodiscard]] __device__ __forceinline__ FieldElement plain(std::uint64_t at) const {
        return element_of(load_block(text_ + (at - aad_blocks_) * block_bytes, alignment_));
    }
    /// Any block; zeros before the first.
    [[nodiscard]] __device__ __forceinline__ FieldElement any(std::int64_t at) const {
        if (at < 0) return {};
        const auto block = static_cast<std::uint64_t>(at);
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

__device__ __forceinline__ FieldElement shuffle_xor(FieldElement e, int lanes) {
    return {__shfl_xor_sync(full_warp, static_cast<unsigned long long>(e.high), lanes),
            __shfl_xor_sync(full_warp, static_cast<unsigned long long>(e.low), lanes)};
}

/// `Lanes` lanes a message. Encryption adds E(J0) and writes tags, decryption leaves digests.
template <int Lanes>
__global__ void __launch_bounds__(256, 2) ghash_batch_kernel(const __grid_constant__ GcmBatchParams p) {
    static_assert(warp_lanes % Lanes == 0);
    constexpr std::uint64_t per_warp = warp_lanes / Lanes;
    const unsigned lane = lane_id() % Lanes;
    const std::uint64_t warp = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_lanes;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / warp_lanes;
    for (std::uint64_t first = p.first + warp * per_warp; first < p.end; first += warps * per_warp) {
        const std::uint64_t number = first + lane_id() / Lanes;
        const bool present = number < p.end;
        // Lanes without a message take the last one's part and leave it.
        const BatchMessage m(p.groups, p.group_count, present ? number : p.end - 1);

        // H^(L - l) and H^L
        FieldElement own = element_of(m.key_slot()[key_slot_h]), power = own;
#pragma unroll 1
        for (unsigned step = 1; step < Lanes; step *= 2) {
            const FieldElement longer = product(own, power);
            if (((Lanes - 1 - lane) & step) != 0) own = longer;
            power = square(power);
        }
        const Multiplier skip(power);

        const GhashRow row(*m.group, m.index, p.decrypts != 0);
        const std::uint64_t blocks = row.blocks(), steps = (blocks + Lanes - 1) / Lanes,
                            missing = steps * Lanes - blocks;
        // Steps in which every lane has a whole block of text.
        const std::uint64_t from = (row.plain_begin() + missing + Lanes - 1) / Lanes;
        const std::uint64_t end = (row.plain_end() + missing) / Lanes;
        FieldElement y;
        std::uint64_t step = 0;
#pragma unroll 1
        while (step < steps) {
            if (step >= from && step < end) {
#pragma unroll 1
                for (; step < end; ++step) y = skip.times(y) ^ row.plain(step * Lanes + lane - missing);
            } else {
                const auto at = static_cast<std::int64_t>(step * Lanes + lane - missing);
                y = skip.times(y) ^ row.any(at);
                ++step;
            }
        }
        __syncwarp();
        y = product(y, own);
        for (int lanes = Lanes / 2; lanes != 0; lanes /= 2) y = y ^ shuffle_xor(y, lanes);
        if (lane == 0 && present) {
            if (p.decrypts != 0) {
                p.digests[number] = block_of(y);
            } else {
                (void)settle_tag(m, block_of(y) ^ take(p.pads + number), false);
            }
        }
        __syncwarp();
    }
}

}  // namespace warpaes::cuda
