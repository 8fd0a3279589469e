// GHASH of long messages, each possibly under its own key, on tensor cores (ghash_mma.cuh), in three steps. The first
// kernel computes the powers of H for many messages. In the second kernel, each thread block hashes 32 rows of one
// message. The third kernel combines the digests, one per row, with carry-less products: it computes one product per
// row, that is, for as many blocks of text as a row has.
//
// A thread block of the second kernel has only four warps, so that three thread blocks share a multiprocessor: while
// one thread block builds the matrices for its message, the other thread blocks hash.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/field.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

__device__ __forceinline__ uint4* digests_of(const GhashKeysParams& p, std::uint64_t number) {
    return p.digests + (number - p.first) * p.rows;
}
__device__ __forceinline__ FieldElement* powers_of(const GhashKeysParams& p, std::uint64_t number) {
    return p.powers + (number - p.first) * GhashKeys::powers_of(p.row_blocks);
}

/// The ciphertext of a message as GHASH reads it, without associated data and lengths.
struct CiphertextBlocks {
    const std::uint8_t* at;
    std::uint64_t whole;
    std::uint32_t rest;

    __device__ __forceinline__ CiphertextBlocks(const BatchMessage& m, bool decrypts)
        : at(decrypts ? m.group->input + m.index * m.group->input_stride
                      : m.group->output + m.index * m.group->output_stride),
          whole(m.group->length / block_bytes),
          rest(static_cast<std::uint32_t>(m.group->length % block_bytes)) {}
};

/// Stores h^1 … h^count; `count` is a multiple of eight, and eight lanes share the work: lane l begins with h^(l + 1)
/// and multiplies by h^8 at every step. Returns the last power that this lane has stored. Must be called by all lanes
/// of a warp; lanes that are not `present` store nothing.
__device__ __forceinline__ FieldElement store_powers(FieldElement h, FieldElement* out, unsigned count, bool present) {
    constexpr unsigned lanes = 8;
    const unsigned lane = lane_id() % lanes;
    FieldElement power = h;
    FieldElement own = times_power<lanes>(h, power, lane);
    const Multiplier on(power);
#pragma unroll 1
    for (unsigned i = lane;; i += lanes) {
        if (present) out[i] = own;
        if (i + lanes >= count) return own;
        own = on.times(own);
    }
}

/// Computes h^(i + 1) for every block i of a row's slots, and h^row_blocks, the factor for a whole row. Eight lanes per
/// message.
__global__ void __launch_bounds__(GhashKeys::power_threads, GhashKeys::power_blocks_each)
    ghash_powers_kernel(const __grid_constant__ GhashKeysParams p) {
    constexpr unsigned lanes = 8;
    const unsigned lane = lane_id() % lanes;
    const std::uint64_t messages = p.end - p.first, step = global_threads() / lanes;
    // Lanes without a message compute the values of the last message and do not store them.
    for (std::uint64_t first = (global_thread() - lane_id()) / lanes; first < messages; first += step) {
        const std::uint64_t unit = first + lane_id() / lanes;
        const std::uint64_t number = p.first + (unit < messages ? unit : messages - 1);
        FieldElement* const out = powers_of(p, number);
        const unsigned count = GhashKeys::powers_of(p.row_blocks) - 1;
        const FieldElement own =
            store_powers(element_of(BatchMessage(p, number).key_slot()[key_slot_h]), out, count, unit < messages);
        // The last lane has computed h^count, and the length of a row is a multiple of count.
        if (lane == lanes - 1 && unit < messages) {
            FieldElement over = own;
#pragma unroll 1
            for (unsigned long_as = count; long_as < p.row_blocks; long_as += count) over = product(over, own);
            out[count] = over;
        }
        __syncwarp();
    }
}

/// Computes the powers for the keys of runs (ghash_messages.cu).
__global__ void __launch_bounds__(GhashKeys::power_threads, GhashKeys::power_blocks_each)
    ghash_run_powers_kernel(const __grid_constant__ RunPowersParams p) {
    constexpr unsigned lanes = 8;
    const std::uint64_t step = global_threads() / lanes;
    for (std::uint64_t first = (global_thread() - lane_id()) / lanes; first < p.run_count; first += step) {
        const std::uint64_t unit = first + lane_id() / lanes, run = unit < p.run_count ? unit : p.run_count - 1;
        (void)store_powers(element_of(global(p.runs[run].key)[key_slot_h]), p.powers + run * HashKey::count,
                           unsigned{HashKey::count}, unit < p.run_count);
        __syncwarp();
    }
}

/// One thread block for every 32 rows of a message.
template <int Stages, int Batch, int Slots, bool Aligned, bool Wide>
__global__ void __launch_bounds__(GhashKeys::threads, GhashKeys::blocks_each)
    ghash_keys_kernel(const __grid_constant__ GhashKeysParams p) {
    const std::uint32_t parts = p.rows / GhashKeys::rows_of_block;
    const std::uint64_t number = p.first + blockIdx.x / parts;
    const BatchMessage m(p, number);
    const std::uint32_t alignment = Aligned ? 16 : m.group->alignment;
    const Powers<Slots, Wide && has_wide_mma> powers;
    const std::uint32_t quads = p.row_blocks / 4;
    powers.fill(powers_of(p, number), quads < Slots ? quads : unsigned{Slots});
    __syncthreads();

    const unsigned q = lane_id() % 4;
    const std::uint32_t row = blockIdx.x % parts * GhashKeys::rows_of_block + threadIdx.x / 4;
    static_assert(GhashKeys::rows_of_block * 4 == GhashKeys::threads);
    const CiphertextBlocks text(m, p.decrypts != 0);
    RowReader reader(text.at, text.whole, std::uint64_t{p.rows} * p.row_blocks, std::uint64_t{row} * p.row_blocks,
                     p.row_blocks, true, q, alignment);
    const uint4 digest = digest_of_rows<Stages, Batch>(powers, reader, quads, q, [] {});
    if (q == 0) digests_of(p, number)[row] = digest;
}

/// Combines the digests of a message's rows to the digest of its text. `Lanes` lanes per message; each lane processes
/// every `Lanes`th row.
template <int Lanes>
__global__ void __launch_bounds__(GhashKeys::threads, GhashKeys::blocks_each)
    ghash_keys_sum_kernel(const __grid_constant__ GhashKeysParams p) {
    const unsigned lane = lane_id() % Lanes;
    const std::uint64_t messages = p.end - p.first, step = global_threads() / Lanes;
    for (std::uint64_t first = (global_thread() - lane_id()) / Lanes; first < messages; first += step) {
        const std::uint64_t unit = first + lane_id() / Lanes;
        const std::uint64_t number = p.first + (unit < messages ? unit : messages - 1);
        // `own` is over^(Lanes - 1 - lane), where over = h^row_blocks; `power` becomes over^Lanes.
        FieldElement power = powers_of(p, number)[GhashKeys::powers_of(p.row_blocks) - 1];
        const FieldElement own = times_power<Lanes>(field_one, power, Lanes - 1 - lane);
        const Multiplier skip(power);
        const uint4* const digests = digests_of(p, number);
        FieldElement y = element_of(digests[lane]);
#pragma unroll 1
        for (std::uint32_t row = lane + Lanes; row < p.rows; row += Lanes) y = skip.times(y) ^ element_of(digests[row]);
        y = product(y, own);
        for (int lanes = Lanes / 2; lanes != 0; lanes /= 2) y = y ^ shuffle_xor(y, lanes);
        if (lane == 0 && unit < messages) {
            const BatchMessage m(p, number);
            const CiphertextBlocks text(m, p.decrypts != 0);
            if (text.rest != 0) {
                const uint4 tail = load_tail(text.at + text.whole * block_bytes, text.rest);
                y = product(y ^ element_of(tail), element_of(m.key_slot()[key_slot_h]));
            }
            p.sums[number] = block_of(y);
        }
        __syncwarp();
    }
}

Kernel<GhashKeysParams> ghash_powers_kernel_for() {
    return &ghash_powers_kernel;
}

Kernel<RunPowersParams> ghash_run_powers_kernel_for() {
    return &ghash_run_powers_kernel;
}

Kernel<GhashKeysParams> ghash_keys_kernel_for(bool wide, bool aligned) {
    using G = GhashMma;
    if (wide) {
        if (aligned) return &ghash_keys_kernel<G::stages, G::batch, G::slots, true, true>;
        return &ghash_keys_kernel<G::stages, G::batch, G::slots, false, true>;
    }
    if (aligned) return &ghash_keys_kernel<G::stages, G::batch, G::slots, true, false>;
    return &ghash_keys_kernel<G::stages, G::batch, G::slots, false, false>;
}

Kernel<GhashKeysParams> ghash_keys_sum_kernel_for(int lanes) {
    return lanes == 4 ? &ghash_keys_sum_kernel<4> : &ghash_keys_sum_kernel<32>;
}

}  // namespace warpaes::cuda
