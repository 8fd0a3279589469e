// Random numbers from CTR's key stream. They are computed in the registers that hold the key stream, and written only
// once.
//
// This file is compiled without contraction of multiplications and additions into FMA (src/cuda/CMakeLists.txt);
// aes/numbers.hpp explains why.
#include "aes/numbers.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

/// Units of work as in ctr.cuh.
template <int Rounds, int Tables, int Width>
__global__ void __launch_bounds__(numbers_threads, 1) numbers_kernel(const __grid_constant__ NumbersParams p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);

    const unsigned each = numbers_block_bytes(p.kind);
    const std::uint64_t whole = p.length / each;
    const auto rest = static_cast<unsigned>(p.length % each);
    walk_counters<Width>(tables, p.counter, whole + (rest != 0), p.round_keys,
                         [&](std::uint64_t index, const uint4(&a)[Width], uint4 b) {
                             uint4 stream[Width];
#pragma unroll
                             for (int i = 0; i < Width; ++i)
                                 stream[i] = rounds_from<false, Rounds, 3>(tables, a[i] ^ b, p.round_keys);
                             with_number(p.kind, [&]<Number Kind>() {
                                 constexpr unsigned bytes = numbers_block_bytes(Kind);
                                 std::uint8_t* out = p.output + index * bytes;
#pragma unroll
                                 for (int i = 0; i < Width; ++i) {
                                     const std::uint64_t at = index + i * warp_lanes;
                                     std::uint8_t* const to = out + i * warp_lanes * bytes;
                                     const NumberBlock n = numbers_of<Kind>(
                                         {{stream[i].x, stream[i].y, stream[i].z, stream[i].w}}, p.range);
                                     const uint4 made = make_uint4(n.word[0], n.word[1], n.word[2], n.word[3]);
                                     if (at < whole) {
                                         if constexpr (bytes == 16) {
                                             store_block(to, made, p.alignment);
                                         } else {
                                             store_half_block(to, made, p.alignment);
                                         }
                                     }
                                     if (at == whole) {
                                         for (unsigned k = 0; k < rest; ++k) {
                                             to[k] = static_cast<std::uint8_t>(word_of(made, k / 4) >> (8 * (k % 4)));
                                         }
                                     }
                                 }
                             });
                         });
}

Kernel<NumbersParams> numbers_kernel_for(int rounds, int tables) {
    const auto choose = [&]<int Rounds, int Tables>() -> Kernel<NumbersParams> {
        return &numbers_kernel<Rounds, Tables, numbers_width>;
    };
    return with_rounds_and_tables(rounds, tables, choose);
}

}  // namespace warpaes::cuda
