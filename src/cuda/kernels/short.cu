// A few blocks in modes whose blocks are independent. The last block should be finished as early as possible, so
// each thread block has one table of 32 KiB instead of four, and each thread processes one block.
//
// XTS receives the encrypted tweaks of the data units: encrypting them in the kernel, before the text, would increase
// the time by half. A long unit is cut into pieces, each with its own tweak, so that a thread multiplies by x^32 at
// most 7 times.
#include "aes/types.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/notice.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/kernels/xts.cuh"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {

/// Returns the counter block that is `n` after `initial`.
__device__ __forceinline__ uint4 counter_after(uint4 initial, std::uint32_t n) {
    std::uint64_t high = (static_cast<std::uint64_t>(byte_swap(initial.x)) << 32) | byte_swap(initial.y);
    const std::uint64_t before = (static_cast<std::uint64_t>(byte_swap(initial.z)) << 32) | byte_swap(initial.w);
    const std::uint64_t low = before + n;
    high += low < before ? 1 : 0;
    return make_uint4(byte_swap(static_cast<std::uint32_t>(high >> 32)), byte_swap(static_cast<std::uint32_t>(high)),
                      byte_swap(static_cast<std::uint32_t>(low >> 32)), byte_swap(static_cast<std::uint32_t>(low)));
}

__device__ __forceinline__ uint4 tweak_of(const ShortXtsParams& p, std::uint32_t block) {
    const std::uint32_t unit = block / p.unit_blocks, in_unit = block % p.unit_blocks;
    const std::uint32_t in_piece = in_unit % ShortXts::piece_blocks;
    uint4 tweak =
        times_power_of_x(p.tweaks[unit * p.pieces_per_unit + in_unit / ShortXts::piece_blocks], in_piece % warp_lanes);
#pragma unroll 1
    for (std::uint32_t groups = in_piece / warp_lanes; groups != 0; --groups) tweak = times_x_32(tweak);
    return tweak;
}

/// ECB, CTR and XTS. `Parameters` is ShortParams, or ShortXtsParams for XTS.
template <Mode M, Direction D, int Rounds, typename Parameters>
__global__ void __launch_bounds__(ShortMessage::threads, 1) short_kernel(const __grid_constant__ Parameters p) {
    constexpr bool inverse = uses_inverse_cipher(M, D);
    const std::uint32_t whole = p.bytes / block_bytes, rest = p.bytes % block_bytes;
    const std::uint32_t block = blockIdx.x * p.share + threadIdx.x;
    const bool has_block = threadIdx.x < p.share && block < whole;
    uint4 text{}, counter_or_tweak{};
    if (has_block) text = load_block_early(p.input + block * block_bytes, p.alignment);
    const SharedTables<1> tables;
    tables.fill(inverse ? td0_table : te0_table, [&] {
        if constexpr (M == Mode::ctr) counter_or_tweak = counter_after(p.counter, block);
        if constexpr (M == Mode::xts) {
            if (has_block) counter_or_tweak = tweak_of(p, block);
        }
    });

    if (has_block || (threadIdx.x < p.share && block == whole && rest != 0)) {
        std::uint8_t* const out = p.output + block * block_bytes;
        if constexpr (M == Mode::ctr) {
            const uint4 key_stream = cipher<false, Rounds>(tables, counter_or_tweak, p.round_keys);
            if (has_block) {
                store_block(out, key_stream ^ text, p.alignment);
            } else {
                xor_partial_block(out, p.input + block * block_bytes, key_stream, rest);
            }
        } else {
            const uint4 result = cipher<inverse, Rounds>(tables, text ^ counter_or_tweak, p.round_keys);
            store_block(out, result ^ counter_or_tweak, p.alignment);
        }
    }
    arrive(p.notice);
}

Kernel<ShortParams> short_kernel_for(Mode mode, Direction direction, int rounds) {
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<ShortParams> {
        if (mode == Mode::ctr) return &short_kernel<Mode::ctr, Direction::encrypt, Rounds, ShortParams>;
        if (direction == Direction::encrypt) {
            return &short_kernel<Mode::ecb, Direction::encrypt, Rounds, ShortParams>;
        }
        return &short_kernel<Mode::ecb, Direction::decrypt, Rounds, ShortParams>;
    });
}

Kernel<ShortXtsParams> short_xts_kernel_for(Direction direction, int rounds) {
    const auto choose = [&]<int Rounds>() -> Kernel<ShortXtsParams> {
        if (direction == Direction::encrypt) {
            return &short_kernel<Mode::xts, Direction::encrypt, Rounds, ShortXtsParams>;
        }
        return &short_kernel<Mode::xts, Direction::decrypt, Rounds, ShortXtsParams>;
    };
    return rounds == 10 ? choose.operator()<10>() : choose.operator()<14>();
}

}  // namespace warpaes::cuda
