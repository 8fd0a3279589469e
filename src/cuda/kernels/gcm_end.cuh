// The final steps of the kernels that process a GCM message in one launch: the parts of the tag other than the whole
// blocks, and the final sum.
//
// A product of field elements takes a warp most of a microsecond, so the critical path should contain only a few
// products. A warp multiplies the digests of its rows by weights, which are powers of H that account for the rows after
// them in the warp. It multiplies the sum by the warp's weight, which accounts for all data after the warp and is
// computed before the text arrives. The thread blocks' shares of the tag then only have to be added. If the host polls,
// each thread block stores its share in page-locked memory, and the host adds the shares. Otherwise the thread blocks
// add their shares in device memory by atomic operations, and the last thread block to arrive stores or checks the
// result. For a tag, the share of the first thread block includes E(J0) and the term of the associated data and
// lengths. The share of the last thread block includes the partial block.
#pragma once

#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/notice.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

__device__ __forceinline__ void add_to(GcmSum* sum, FieldElement e) {
    atomicXor(&sum->high, static_cast<unsigned long long>(e.high));
    atomicXor(&sum->low, static_cast<unsigned long long>(e.low));
}

/// Must be called by the thread that will call add_up(), after a barrier that follows the thread block's last write of
/// text. A thread that polls a share then also observes all writes of that text.
__device__ __forceinline__ void begin_add_up(const GcmMessageParams& p) {
    if (p.shares.words != nullptr) fence_system();
}

/// Adds up the thread blocks' shares in device memory. Called by one thread of each thread block. Returns true in the
/// last of these threads, where `y` then contains the sum.
__device__ __forceinline__ bool has_sum(const GcmMessageParams& p, FieldElement& y) {
    if (gridDim.x == 1) return true;
    add_to(p.sum, y);
    fence_device();
    if (atomicAdd(&p.sum->arrived, 1u) != gridDim.x - 1) return false;
    fence_device();
    y = {atomicExch(&p.sum->high, 0ull), atomicExch(&p.sum->low, 0ull)};
    p.sum->arrived = 0;
    return true;
}

/// Adds `y`, a thread block's share, to the result. Called by one thread of each thread block.
__device__ __forceinline__ void add_up(const GcmMessageParams& p, FieldElement y) {
    if (p.shares.any()) return give_share(p.shares, block_of(y));
    if (!has_sum(p, y)) return;
    store_block(p.result, block_of(y), p.result_alignment);
    give_notice(p.release);
}

/// Returns the weight of the thread block that is followed by `behind` other thread blocks.
template <typename Product>
__device__ __forceinline__ FieldElement block_weight(const GcmMessageParams& p, unsigned behind, Product product) {
    constexpr unsigned radix = GcmMessage::radix;
    if (gridDim.x <= 2 * radix) return p.block_weights[behind];
    const FieldElement outer = p.block_weights[radix + behind / radix];
    return behind % radix == 0 ? outer : product(outer, p.block_weights[behind % radix]);
}

/// Encrypts or decrypts the partial block of `rest` bytes after `whole` blocks. Returns the block's ciphertext, padded
/// with zeros.
__device__ __forceinline__ uint4 cipher_tail(const GcmMessageParams& p, std::uint64_t whole, unsigned rest,
                                             uint4 key_stream) {
    const std::uint8_t* const in = p.input + whole * block_bytes;
    std::uint8_t* const out = p.output + whole * block_bytes;
    uint4 tail{};
    if (!p.encrypts) tail = load_tail(in, rest);  // read before it is overwritten
    xor_partial_block(out, in, key_stream, rest);
    if (p.encrypts) tail = load_tail(out, rest);
    return tail;
}

/// One thread block's contribution to the end of the message. Call clear() before a barrier, then begin_weights(),
/// add_pad() and add_tail() once the tables are filled, and end() in all warps after another barrier.
class MessageEnd {
public:
    static constexpr unsigned warps = GcmMessage::warps;

    /// `offset` is where (2 * warps + 2) * 16 bytes begin in the thread block's shared memory.
    __device__ __forceinline__ MessageEnd(const GcmPartsParams& p, unsigned offset)
        : p_(p),
          offset_(offset),
          behind_(gridDim.x - 1 - blockIdx.x),
          whole_(p.bytes / block_bytes),
          rest_(static_cast<unsigned>(p.bytes % block_bytes)) {}

    /// Whether this thread block adds E(J0), and whether it processes the partial block.
    [[nodiscard]] __device__ __forceinline__ bool adds_pad() const { return blockIdx.x == 0 && p_.tag; }
    [[nodiscard]] __device__ __forceinline__ bool has_tail() const { return behind_ == 0 && rest_ != 0; }

    /// Called by all threads.
    __device__ __forceinline__ void clear() const {
        if (threadIdx.x < 2) extra()[threadIdx.x] = {};
    }

    /// The last warp computes E(J0) and processes the partial block. Called by all warps.
    template <int Rounds, int Tables>
    __device__ __forceinline__ void begin_pad_and_tail(const SharedTables<Tables>& tables, std::uint32_t base) const {
        if ((!adds_pad() && !has_tail()) || threadIdx.x / warp_lanes + 1 != warps) return;
        const unsigned lane = lane_id();
        const std::uint32_t behind_text = base + 1 + static_cast<std::uint32_t>(whole_);
        const uint4 counter = make_uint4(p_.j0.x, p_.j0.y, p_.j0.z, lane == 0 ? p_.j0.w : byte_swap(behind_text));
        const std::uint32_t* const k = p_.round_keys;
        const uint4 key_stream = rounds_in_a_loop<Rounds>(tables, counter ^ make_uint4(k[0], k[1], k[2], k[3]), k);
        if (lane == 0 && adds_pad()) add_pad(key_stream);
        FieldElement tail{};
        const bool mine = lane == 1 && has_tail();
        if (mine) tail = partial_block(key_stream);
        add_tail(tail, mine);
    }

    /// Must be called by the thread that has computed E(J0). Also adds the term of the associated data and lengths.
    __device__ __forceinline__ void add_pad(uint4 e_of_j0) const { extra()[0] = element_of(e_of_j0) ^ p_.addend; }

    /// Must be called by all lanes of a warp. `mine` means that this lane's `tail` is the ciphertext of the partial
    /// block.
    __device__ __forceinline__ void add_tail(FieldElement tail, bool mine) const {
        const unsigned lanes = __ballot_sync(full_warp, mine);
        if (lanes == 0) return;
        const int from = __ffs(static_cast<int>(lanes)) - 1;
        tail.high = __shfl_sync(full_warp, static_cast<unsigned long long>(tail.high), from);
        tail.low = __shfl_sync(full_warp, static_cast<unsigned long long>(tail.low), from);
        tail = product_by_four(tail, p_.tail_weight);
        if (lane_id() == 0) extra()[1] = tail;
    }

    /// Encrypts or decrypts the partial block. Returns its ciphertext.
    __device__ __forceinline__ FieldElement partial_block(uint4 key_stream) const {
        return element_of(cipher_tail(p_, whole_, rest_, key_stream));
    }

    /// The second-to-last warp computes the weights of the last `used` warps. Called by all warps.
    __device__ __forceinline__ void begin_weights(unsigned used) const {
        const unsigned g = lane_id() / 4, q = lane_id() % 4;
        if (threadIdx.x / warp_lanes + 2 != warps) return;
        const FieldElement weight = block_weight(p_, behind_, product_by_four);
        if (lane_id() == 0) weights()[warps - 1] = weight;
        // Computes the weights of the other warps, eight at a time.
        for (unsigned first = 0; first + 1 < used; first += 8) {
            const unsigned its = first + g + 1;
            const FieldElement e = product_by_four(weight, p_.warp_weights[its % warps]);
            if (q == 0 && its < warps) weights()[warps - 1 - its] = e;
        }
    }

    /// Must be called by all warps. `digest` is the digest of the warp's row g, in lanes 4g to 4g + 3. `used` means
    /// that the warp has rows. `last_is_one` means that the weight of the last thread block's last warp is one, so no
    /// product is needed.
    __device__ __forceinline__ void end(FieldElement digest, bool used, bool last_is_one) const {
        const unsigned warp = threadIdx.x / warp_lanes, lane = lane_id(), g = lane / 4;
        if (used) {
            digest = product_by_four(digest, p_.row_weights[7 - g]);
#pragma unroll
            for (unsigned lanes = 4; lanes < warp_lanes; lanes *= 2) {
                digest = digest ^ shuffle_xor(digest, static_cast<int>(lanes));
            }
            if (!last_is_one || behind_ != 0 || warp + 1 != warps) digest = product_by_four(digest, weights()[warp]);
        }
        if (lane == 0) sums()[warp] = used ? digest : FieldElement{};
        __syncthreads();
        if (warp != 0) return;
        FieldElement y = lane < warps + 2 ? sums()[lane] : FieldElement{};
        y = sum_over_warp(y);
        if (lane != 0) return;
        begin_add_up(p_);
        add_up(p_, y);
    }

private:
    __device__ __forceinline__ FieldElement* weights() const {
        return reinterpret_cast<FieldElement*>(shared_apart() + offset_);
    }
    __device__ __forceinline__ FieldElement* sums() const {
        return weights() + warps;
    }
    /// E(J0) with the addend, and the weighted partial block. They follow the sums in memory and are added together
    /// with them.
    __device__ __forceinline__ FieldElement* extra() const {
        return weights() + 2 * warps;
    }

    const GcmPartsParams& p_;
    unsigned offset_;
    unsigned behind_;
    std::uint64_t whole_;
    unsigned rest_;
};

}  // namespace warpaes::cuda
