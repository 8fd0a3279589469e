// The GCM key stream: CTR with counter caching (ctr.cuh) for many segments. Each segment has its own counter; only its
// last 32 bits are incremented (inc32).
//
// Positions are counted from the counter of J0 with its last 16 bits set to zero. J0 itself, whose key stream the tag
// needs, has position `skew`, and the segment's first block has position skew + 1. A window is 256 positions with the
// same g (byte 14). A task is the same half of each of `window_count` successive windows, so a warp has the same values
// of j in all of them, and A(j) stays in registers.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/ghash.cuh"
#include "cuda/tuning/gcm.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Returns a[which], for an index known only at run time, without moving the array to local memory.
template <int Width>
__device__ __forceinline__ uint4 choose(const uint4 (&a)[Width], int which) {
    uint4 chosen = a[0];
#pragma unroll
    for (int i = 1; i < Width; ++i) {
        if (which == i) chosen = a[i];
    }
    return chosen;
}

template <int Rounds, int Tables, int Width, bool Aligned>
__global__ void __launch_bounds__(most_table_threads, 1) gcm_ctr_kernel(const __grid_constant__ GcmCtrParams p) {
    const std::uint32_t alignment = Aligned ? 16 : p.input.alignment;
    constexpr std::uint32_t unit_blocks = Width * warp_lanes;
    constexpr unsigned units = 256 / unit_blocks;  // tasks per window
    const SharedTables<Tables> tables;
    tables.fill(te0_table);

    const unsigned lane = lane_id();
    const std::uint32_t per_segment = p.parts * units;
    const std::uint64_t tasks = p.input.count * per_segment;
    const std::uint64_t stop = tasks * (blockIdx.x + 1) / gridDim.x;
    for (std::uint64_t task = tasks * blockIdx.x / gridDim.x + threadIdx.x / warp_lanes; task < stop;
         task += blockDim.x / warp_lanes) {
        const std::uint64_t segment = task / per_segment;
        const auto of_segment = static_cast<std::uint32_t>(task % per_segment);
        const std::uint32_t unit_first = of_segment % units * unit_blocks;
        const uint4 j0 = p.j0s != nullptr ? p.j0s[segment] : p.j0;
        const std::uint32_t base = byte_swap(j0.w) + p.first_block;
        const std::uint32_t skew = base & 0xffffu;

        const std::uint64_t bytes = p.input.bytes_of(segment);
        const std::uint64_t whole = bytes / block_bytes;
        const auto rest = static_cast<unsigned>(bytes % block_bytes);
        const std::uint64_t last_position = skew + whole + (rest != 0);
        std::uint32_t window = (skew >> 8) + of_segment / units * p.window_count;
        const auto last_window = static_cast<std::uint32_t>(last_position >> 8);
        const std::uint32_t end_window =
            window + p.window_count <= last_window ? window + p.window_count : last_window + 1;
        // In windows full_from … full_end - 1, all blocks of this unit are whole blocks of the text. full_from is the
        // first window in which the unit begins after J0, and full_end is the first window in which the unit extends
        // beyond the last whole block.
        const std::uint32_t full_from = (skew + 256 - unit_first) >> 8;
        const auto full_end = static_cast<std::uint32_t>((skew + 1 + whole + 256 - unit_first - unit_blocks) >> 8);

        const std::int64_t shift =
            (static_cast<std::int64_t>(window) * 256 + unit_first + lane - skew - 1) * static_cast<int>(block_bytes);
        const std::uint8_t* in = p.input.data + segment * p.input.stride + shift;
        std::uint8_t* out = p.output + segment * p.output_stride + shift;

        bool fresh = true;
        CounterPrefix<Tables> prefix;
        uint4 a[Width];
        for (; window < end_window; ++window, in += 256 * block_bytes, out += 256 * block_bytes) {
            if (fresh || (window & 0xff) == 0) {
                fresh = false;
                const uint4 block = p.j0s != nullptr ? p.j0s[segment] : p.j0;
                const std::uint32_t counter =
                    ((byte_swap(block.w) + p.first_block) & 0xffff0000u) + ((window >> 8) << 16);
                prefix.set(tables, make_uint4(block.x, block.y, block.z, byte_swap(counter)), p.round_keys);
#pragma unroll
                for (int i = 0; i < Width; ++i) {
                    a[i] = prefix.a(tables, unit_first + i * warp_lanes + lane, p.round_keys);
                }
            }
            const uint4 b = prefix.b(tables, window & 0xff, p.round_keys);
            if (window >= full_from && window < full_end) {
#pragma unroll
                for (int i = 0; i < Width; ++i) {
                    constexpr int group_bytes = warp_lanes * static_cast<int>(block_bytes);
                    const uint4 text = load_block(in + i * group_bytes, alignment);
                    const uint4 key_stream = rounds_from<false, Rounds, 3>(tables, a[i] ^ b, p.round_keys);
                    store_block(out + i * group_bytes, key_stream ^ text, alignment);
                }
                continue;
            }
            // The beginning or the end of the segment. Groups of 32 blocks without work are skipped: 16 KiB and E(J0)
            // take 33 groups instead of 36.
#pragma unroll 1
            for (int i = 0; i < Width; ++i) {
                const std::uint64_t group = static_cast<std::uint64_t>(window) * 256 + unit_first + i * warp_lanes;
                if (group > last_position || group + warp_lanes <= skew) continue;
                const std::uint64_t at = group + lane - skew - 1;  // wraps around before the first block
                const std::uint8_t* from = p.input.data + segment * p.input.stride + at * block_bytes;
                std::uint8_t* to = p.output + segment * p.output_stride + at * block_bytes;
                uint4 text{};
                if (at < whole) text = load_block(from, alignment);
                const uint4 key_stream = rounds_from<false, Rounds, 3>(tables, choose(a, i) ^ b, p.round_keys);
                if (at < whole) store_block(to, key_stream ^ text, alignment);
                if (at == whole && rest != 0) xor_partial_block(to, from, key_stream, rest);
                if (at == ~std::uint64_t{0} && p.pads != nullptr) {
                    if (p.tags != nullptr) {
                        store_block(p.tags + segment * block_bytes, key_stream ^ take(p.pads + segment),
                                    p.tags_alignment);
                    } else {
                        p.pads[segment] = key_stream;
                    }
                }
            }
        }
    }
}

Kernel<GcmCtrParams> gcm_ctr_kernel_for(int rounds, int tables, bool aligned) {
    const auto choose = [&]<int Rounds, int Tables, bool Aligned>() -> Kernel<GcmCtrParams> {
        return &gcm_ctr_kernel<Rounds, Tables, gcm_ctr_width, Aligned>;
    };
    return with_rounds_and_tables(rounds, tables, aligned, choose);
}

}  // namespace warpaes::cuda
