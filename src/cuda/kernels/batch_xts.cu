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
    bool steals;            ///< whether this is the last whole block of a unit and a partial block follows

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
        steals = of_unit + 1 == bytes / block_bytes && bytes % block_bytes != 0;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t alignment() const { return alignment_of(in, out); }
};

/// The cipher as a rolled loop, for the few blocks that are processed in addition to the main work.
template <bool Inverse, int Rounds, int Tables, typename Key>
__device__ __forceinline__ uint4 cipher_in_a_loop(const SharedTables<Tables>& t, uint4 block, const Key& key) {
    std::uint32_t buffer[4];
    const std::uint32_t* const k = key.round(0, buffer);
    block = block ^ make_uint4(k[0], k[1], k[2], k[3]);
#pragma unroll 1
    for (int r = 1; r < Rounds; ++r) block = cipher_round<Inverse>(t, block, key.round(r, buffer));
    return last_round<Inverse>(t, block, key.round(Rounds, buffer));
}

/// Ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2) for data unit `number` of the launch, if the unit has a partial
/// block and its last whole block is in `stretch`. The output already contains the result of the cipher for that block.
template <Direction D, int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void steal(const BatchXtsParams& p, const SharedTables<Tables>& tables, const Keys& keys,
                                      const Stretch& stretch, std::uint64_t number) {
    const std::uint32_t at = find_in<&XtsPart::first_tweak>(p.parts, p.batch.group_count, number);
    const XtsPart& part = p.parts[at];
    const BatchGroup& group = p.batch.groups[at];
    const std::uint64_t message = (number - part.first_tweak) / part.message_units,
                        unit = (number - part.first_tweak) % part.message_units;
    const std::uint64_t unit_first = unit * part.unit_bytes, left = group.length - unit_first;
    const std::uint64_t bytes = left < part.unit_bytes ? left : part.unit_bytes;
    const auto rest = static_cast<unsigned>(bytes % block_bytes);
    const auto whole = static_cast<std::uint32_t>(bytes / block_bytes);
    if (rest == 0 || whole == 0) return;
    const std::uint64_t block = group.first_unit + message * part.blocks + unit * part.unit_blocks + whole - 1;
    if (block < stretch.first || block >= stretch.last) return;

    const std::uint64_t offset = unit_first + (whole - 1) * block_bytes;
    const std::uint8_t* const in = global(group.input) + message * group.input_stride + offset + block_bytes;
    std::uint8_t* const out = global(group.output) + message * group.output_stride + offset;
    const uint4 tweak =
        times_power_of_x(times_groups(p.tweaks[number], (whole - 1) / warp_lanes), (whole - 1) % warp_lanes);
    const uint4 mask = D == Direction::decrypt ? tweak : times_power_of_x(tweak, 1);
    const uint4 stolen = load_block(out);
    const uint4 text = begin_with(stolen, in, rest);
    store_beginning(out + block_bytes, stolen, rest);
    const uint4 result =
        cipher_in_a_loop<D == Direction::decrypt, Rounds>(tables, text ^ mask, keys.at(group, message));
    store_block(out, result ^ mask, alignment_of(out, out));
}

template <Direction D, int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void process_units(const BatchXtsParams& p, const Keys& keys) {
    constexpr bool inverse = D == Direction::decrypt;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);
    const Stretch stretch(p.batch.units, global_warp(), global_warps());
    if (stretch.first >= stretch.last) return;

    std::uint64_t at = stretch.first + lane_id();
    BlockWalk walk;
    const auto blocks_of = [&](std::uint32_t group) { return p.parts[group].blocks; };
    walk.begin(p.batch, at < p.batch.units ? at : p.batch.units - 1, blocks_of);
    KeptKey<Rounds, Keys> key(keys);
    uint4 tweak{};
    std::uint64_t tweak_of = ~std::uint64_t{0};
    bool any_steals = false;
    // Each block is loaded while the previous block is encrypted or decrypted.
    XtsPlace next(p, walk);
    const std::uint64_t first_number = shuffle(next.number, 0);
    uint4 next_text = load_block_early(next.in, next.alignment());
    for (std::uint64_t first = stretch.first; first < stretch.last; first += warp_lanes) {
        const bool works = at < p.batch.units;
        const XtsPlace here = next;
        const uint4 text = next_text;
        if (here.number == tweak_of) {
            tweak = times_x_32(tweak);
        } else {
            tweak_of = here.number;
            tweak = times_groups(p.tweaks[here.number], here.of_unit / warp_lanes);
            tweak = times_power_of_x(tweak, here.of_unit % warp_lanes);
        }
        key.take(p.batch.groups[walk.group()], walk.message());
        at += warp_lanes;
        if (first + warp_lanes < stretch.last && at < p.batch.units) {
            walk.advance(p.batch, at, blocks_of);
            next = XtsPlace(p, walk);
            next_text = load_block_early(next.in, next.alignment());
        }

        any_steals |= here.steals;
        const uint4 mask = here.steals && inverse ? times_power_of_x(tweak, 1) : tweak;
        const uint4 result = cipher_with<inverse, Rounds>(tables, text ^ mask, key) ^ mask;
        if (works) store_block(here.out, result, here.alignment());
        __syncwarp();
    }

    // The partial blocks are processed last, one in each lane. The other lanes would otherwise wait for the lane that
    // processes a second block.
    if (!__any_sync(full_warp, any_steals ? 1 : 0)) return;
    const std::uint64_t end = stretch.last < p.batch.units ? stretch.last : p.batch.units;
    const std::uint64_t last_number = shuffle(tweak_of, static_cast<unsigned>((end - 1) % warp_lanes));
    for (std::uint64_t number = first_number + lane_id(); number <= last_number; number += warp_lanes) {
        steal<D, Rounds, Tables>(p, tables, keys, stretch, number);
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
