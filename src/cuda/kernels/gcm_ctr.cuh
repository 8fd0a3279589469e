// The key stream of GCM: CTR with counter caching (ctr.cuh) for many segments, each with a counter of its own, of which
// only the last 32 bits count (inc32).
//
// Positions count from the counter of J0 with its last 16 bits zero; J0 itself, whose key stream the tag needs, is at
// `skew`, the segment's first block one further. A window is 256 positions, in which g (byte 14) is constant; a task is
// one half of each of `window_count` successive windows, so that a warp meets the same values of j in all of them and
// A(j) stays.
#pragma once

#include "cuda/kernels/ctr.cuh"
#include "cuda/kernels/gcm_params.cuh"

namespace warpaes::cuda {

template <int Rounds, int Tables, int Width, bool Aligned>
__global__ void __launch_bounds__(1024, 1) gcm_ctr_kernel(const __grid_constant__ GcmCtrParams p) {
    const std::uint32_t alignment = Aligned ? 16 : p.input.alignment;
    constexpr unsigned unit_blocks = Width * warp_lanes;
    constexpr unsigned units = 256 / unit_blocks;  // tasks that share a window
    const SharedTables<Tables> tables;
    tables.fill(te0_constant);

    const unsigned lane = lane_id();
    const std::uint64_t per_segment = static_cast<std::uint64_t>(p.parts) * units;
    const std::uint64_t tasks = p.input.count * per_segment;
    const std::uint64_t stop = tasks * (blockIdx.x + 1) / gridDim.x;
    for (std::uint64_t task = tasks * blockIdx.x / gridDim.x + threadIdx.x / warp_lanes; task < stop;
         task += blockDim.x / warp_lanes) {
        const std::uint64_t segment = task / per_segment;
        const auto of_segment = static_cast<unsigned>(task % per_segment);
        const unsigned part = of_segment / units, unit = of_segment % units;
        const std::uint64_t bytes = p.input.bytes_of(segment);
        const std::uint64_t whole = bytes / block_bytes;
        const auto rest = static_cast<unsigned>(bytes % block_bytes);
        const std::uint8_t* in = p.input.data + segment * p.input.stride;
        std::uint8_t* out = p.output + segment * p.output_stride;
        const uint4 j0 = p.j0s != nullptr ? p.j0s[segment] : p.j0;
        const std::uint32_t base = byte_swap(j0.w) + p.first_block;
        const std::uint32_t skew = base & 0xffffu;

        const std::uint64_t first_window = (skew >> 8) + static_cast<std::uint64_t>(part) * p.window_count;
        const std::uint64_t last_position = skew + whole + (rest != 0);
        const std::uint64_t last_window = last_position >> 8;
        const std::uint64_t end_window =
            first_window + p.window_count <= last_window ? first_window + p.window_count : last_window + 1;
        std::uint64_t prefix_of = ~std::uint64_t{0};
        CounterPrefix<Tables> prefix;
        uint4 a[Width];
        for (std::uint64_t window = first_window; window < end_window; ++window) {
            const std::uint64_t position = window * 256 + unit * unit_blocks;
            if ((window >> 8) != prefix_of) {
                prefix_of = window >> 8;
                const std::uint32_t counter = (base & 0xffff0000u) + (static_cast<std::uint32_t>(prefix_of) << 16);
                prefix.set(tables, make_uint4(j0.x, j0.y, j0.z, byte_swap(counter)), p.round_keys);
#pragma unroll
                for (int i = 0; i < Width; ++i) {
                    a[i] = prefix.a(tables, unit * unit_blocks + i * warp_lanes + lane, p.round_keys);
                }
            }
            const uint4 b = prefix.b(tables, static_cast<std::uint32_t>(window) & 0xff, p.round_keys);
#pragma unroll
            for (int i = 0; i < Width; ++i) {
                // The same for all lanes: whether any has work.
                const std::uint64_t group = position + i * warp_lanes;
                if (group > last_position || group + warp_lanes <= skew) continue;
                const std::uint64_t at = group + lane - skew - 1;  // wraps below the first block: no valid index then
                uint4 text{};
                if (at < whole) text = load_block(in + at * block_bytes, alignment);
                const uint4 key_stream = rounds_from<false, Rounds, 3>(tables, a[i] ^ b, p.round_keys);
                if (at < whole) store_block(out + at * block_bytes, key_stream ^ text, alignment);
                if (at == whole && rest != 0) {
                    xor_partial_block(out + at * block_bytes, in + at * block_bytes, key_stream, rest);
                }
                if (at == ~std::uint64_t{0} && p.pads != nullptr) {
                    if (p.tags != nullptr) {
                        store_block(p.tags + segment * block_bytes, key_stream ^ p.pads[segment], p.tags_alignment);
                    } else {
                        p.pads[segment] = key_stream;
                    }
                }
            }
        }
    }
}

}  // namespace warpaes::cuda
