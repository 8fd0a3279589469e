// XTS for many messages: first the tweaks of all data units are encrypted, then each thread processes one block at a
// time, as in batch_blocks.cu. A thread that stays in its data unit from one step to the next multiplies its tweak by
// x^32 (xts.cuh). A thread that enters another data unit uses the tweak of that unit, multiplied by x to the power of
// its block number in the unit, which is below 32 except in the first step.
#include "cuda/kernels/batch_walk.cuh"
#include "cuda/kernels/blocks.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/xts.cuh"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

template <bool OneKey>
__device__ __forceinline__ KeyOf<OneKey> tweak_key_of(const BatchXtsParams& p, const XtsPart& part) {
    if constexpr (OneKey) {
        return {p.tweak_keys};
    } else {
        return {global(part.tweak_keys)};
    }
}

/// One thread per data unit.
template <int Rounds, int Tables, bool OneKey>
__global__ void __launch_bounds__(most_table_threads, 1) batch_tweaks_kernel(const __grid_constant__ BatchXtsParams p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const std::uint64_t step = global_threads();
    for (std::uint64_t i = global_thread(); i < p.tweak_count; i += step) {
        const std::uint32_t at = find_in<&XtsPart::first_tweak>(p.parts, p.batch.group_count, i);
        const XtsPart& part = p.parts[at];
        const BatchGroup& group = p.batch.groups[at];
        const std::uint64_t message = (i - part.first_tweak) / part.message_units,
                            unit = (i - part.first_tweak) % part.message_units;
        const uint4 first = load_iv(group, message);
        const Tweak number{first.x | static_cast<std::uint64_t>(first.y) << 32,
                           first.z | static_cast<std::uint64_t>(first.w) << 32};
        p.tweaks[i] = cipher_with<false, Rounds>(tables, unit_number(number, unit * part.unit_step),
                                                 tweak_key_of<OneKey>(p, part));
    }
}

/// The position of a block, in memory and in its data unit.
struct XtsPlace {
    const std::uint8_t* in;
    std::uint8_t* out;
    std::uint64_t number;   ///< number of the data unit in the launch
    std::uint32_t of_unit;  ///< number of the block in its data unit
    std::uint32_t steals;   ///< bytes of the following partial block, for the last whole block of a unit; otherwise 0

    __device__ __forceinline__ XtsPlace(const BatchXtsParams& p, const BlockWalk& walk) {
        const BatchGroup& group = p.batch.groups[walk.group()];
        const XtsPart& part = p.parts[walk.group()];
        const auto block = static_cast<std::uint32_t>(walk.block());
        // The last unit of a message may be shorter; it begins where a full unit would begin.
        const std::uint32_t unit = block / part.unit_blocks;
        of_unit = block % part.unit_blocks;
        number = part.first_tweak + walk.message() * part.message_units + unit;
        const std::uint64_t unit_first = unit * part.unit_bytes, left = group.length - unit_first;
        const std::uint64_t bytes = left < part.unit_bytes ? left : part.unit_bytes;
        const std::uint64_t offset = unit_first + static_cast<std::uint64_t>(of_unit) * block_bytes;
        in = global(group.input) + walk.message() * group.input_stride + offset;
        out = global(group.output) + walk.message() * group.output_stride + offset;
        steals = of_unit + 1 == bytes / block_bytes ? static_cast<std::uint32_t>(bytes % block_bytes) : 0;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t alignment() const { return alignment_of(in, out); }
};

template <Direction D, int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void process_units(const BatchXtsParams& p, const Keys& keys) {
    constexpr bool inverse = D == Direction::decrypt;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);
    const Stretch stretch(p.batch.units, global_warp(), global_warps());
    if (stretch.first >= stretch.last) return;

    std::uint64_t at = stretch.first + lane_id();
    if (at >= p.batch.units) return;
    BlockWalk walk;
    const auto blocks_of = [&](std::uint32_t group) { return p.parts[group].blocks; };
    walk.begin(p.batch, at, blocks_of);
    KeptKey<Rounds, Keys> key(keys);
    uint4 tweak{};
    std::uint64_t tweak_of = ~std::uint64_t{0};
    // Each block is loaded while the previous block is encrypted or decrypted.
    XtsPlace next(p, walk);
    uint4 next_text = load_block_early(next.in, next.alignment());
    for (;;) {
        const XtsPlace here = next;
        uint4 result = next_text;
        if (here.number == tweak_of) {
            tweak = times_x_32(tweak);
        } else {
            tweak_of = here.number;
            tweak = times_groups(p.tweaks[here.number], here.of_unit / warp_lanes);
            tweak = times_power_of_x(tweak, here.of_unit % warp_lanes);
        }
        key.take(p.batch.groups[walk.group()], walk.message());
        at += warp_lanes;
        const bool goes_on = at < stretch.last && at < p.batch.units;
        if (goes_on) {
            walk.advance(p.batch, at, blocks_of);
            next = XtsPlace(p, walk);
            next_text = load_block_early(next.in, next.alignment());
        }

        // Ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2): the thread of the last whole block also processes the
        // partial block.
        const uint4 after = times_power_of_x(tweak, 1);
        uint4 mask = here.steals != 0 && inverse ? after : tweak;
        for (int turn = 0;; ++turn) {
            result = cipher_with<inverse, Rounds>(tables, result ^ mask, key) ^ mask;
            if (here.steals == 0 || turn == 1) break;
            const uint4 stolen = result;
            result = begin_with(stolen, here.in + block_bytes, here.steals);
            store_beginning(here.out + block_bytes, stolen, here.steals);
            mask = inverse ? tweak : after;
        }
        store_block(here.out, result, here.alignment());
        if (!goes_on) return;
    }
}

template <Direction D, int Rounds, int Tables, bool OneKey>
__global__ void __launch_bounds__(BatchBlocks::most_threads(OneKey), 1)
    batch_xts_kernel(const __grid_constant__ BatchXtsParams p) {
    process_units<D, Rounds, Tables>(p, keys_of<OneKey>(p.batch));
}

template <Direction D, int Rounds, int Tables>
__global__ void __launch_bounds__(BatchBlocks::most_threads(true), 1)
    batch_xts_few_kernel(const __grid_constant__ BatchXtsParams p, const __grid_constant__ FewKeys keys) {
    process_units<D, Rounds, Tables>(p, FromFewKeys{keys});
}

Kernel<BatchXtsParams> batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<BatchXtsParams> {
        if (direction == Direction::encrypt) return &batch_xts_kernel<Direction::encrypt, Rounds, Tables, OneKey>;
        return &batch_xts_kernel<Direction::decrypt, Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

Kernel<BatchXtsParams, FewKeys> batch_xts_few_kernel_for(Direction direction, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<BatchXtsParams, FewKeys> {
        if (direction == Direction::encrypt) return &batch_xts_few_kernel<Direction::encrypt, Rounds, Tables>;
        return &batch_xts_few_kernel<Direction::decrypt, Rounds, Tables>;
    });
}

Kernel<BatchXtsParams> batch_tweaks_kernel_for(int rounds, int tables, bool one_key) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<BatchXtsParams> {
        return &batch_tweaks_kernel<Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

}  // namespace warpaes::cuda
