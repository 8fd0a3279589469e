// ECB in both directions, and CBC and CFB128 decryption, of many messages: one thread per block. Each warp processes a
// contiguous stretch of all blocks, regardless of message boundaries. blocks.cuh describes where the ciphertext before
// each block comes from.
#include "cuda/kernels/batch_walk.cuh"
#include "cuda/kernels/blocks.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/tuning/blocks.hpp"

namespace warpaes::cuda {

/// Returns the number of blocks of a message, including a partial block.
struct BlocksOfText {
    const BatchParams& p;
    __device__ __forceinline__ std::uint64_t operator()(std::uint32_t group) const {
        const std::uint64_t length = p.groups[group].length;
        return length / block_bytes + (length % block_bytes != 0);
    }
};

/// The position of a block in memory.
struct BlockPlace {
    const std::uint8_t* in = nullptr;
    std::uint8_t* out = nullptr;
    bool whole = false;  ///< whether the block exists and is not a partial block

    __device__ __forceinline__ BlockPlace(const BatchParams& p, const BlockWalk& walk, bool works,
                                          bool may_be_partial) {
        if (!works) return;
        const BatchGroup& g = p.groups[walk.group()];
        const std::uint64_t offset = walk.block() * block_bytes;
        in = global(g.input) + walk.message() * g.input_stride + offset;
        out = global(g.output) + walk.message() * g.output_stride + offset;
        whole = !may_be_partial || offset + block_bytes <= g.length;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t alignment() const { return alignment_of(in, out); }
    [[nodiscard]] __device__ __forceinline__ uint4 load() const {
        return whole ? load_block_early(global(in), alignment()) : uint4{};
    }
};

template <Mode M, Direction D, int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void process_blocks(const BlockParams& p, const Keys& keys) {
    constexpr bool inverse = uses_inverse_cipher(M, D);
    constexpr bool chained = chains_on_ciphertext(M, D);
    constexpr bool partial = M == Mode::cfb128;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);

    const unsigned lane = lane_id();
    const Stretch stretch(p.batch.units, global_warp(), global_warps());
    if (stretch.first >= stretch.last) return;

    BlockWalk walk;
    std::uint64_t unit = stretch.first + lane;
    const BlocksOfText blocks_of{p.batch};
    walk.begin(p.batch, unit < p.batch.units ? unit : p.batch.units - 1, blocks_of);

    // Lane 31 carries the ciphertext block before the current 32 blocks.
    uint4 carried{};
    if (chained && lane == 0 && walk.block() != 0) {
        const BatchGroup& g = p.batch.groups[walk.group()];
        const std::uint8_t* before =
            global(g.input) + walk.message() * g.input_stride + (walk.block() - 1) * block_bytes;
        carried = p.boundaries != nullptr ? p.boundaries[global_warp()] : load_block(before);
    }
    if constexpr (chained) carried = shuffle(carried, 0);

    // Threads that keep keys in registers load each block while the previous block is encrypted or decrypted. Otherwise
    // there are twice as many threads, which hide the latency of loads but have no registers for a second block.
    constexpr bool early = Keys::in_registers;
    KeptKey<Rounds, Keys> key(keys);
    BlockPlace next(p.batch, walk, unit < p.batch.units, partial);
    uint4 next_text = early ? next.load() : uint4{};
    for (std::uint64_t first = stretch.first; first < stretch.last; first += warp_lanes) {
        const bool works = unit < p.batch.units;
        const BlockPlace here = next;
        const uint4 text = early ? next_text : here.load();
        uint4 previous{};
        if constexpr (chained) {
            previous = shuffle(lane == warp_lanes - 1 ? carried : text,
                               static_cast<int>((lane + warp_lanes - 1) % warp_lanes));
            carried = text;
        }
        unsigned rest = 0;
        if (works) {
            const BatchGroup& g = p.batch.groups[walk.group()];
            key.take(g, walk.message());
            if (chained && walk.block() == 0) previous = load_iv(g, walk.message());
            if (partial) rest = static_cast<unsigned>(g.length % block_bytes);
        }
        unit += warp_lanes;
        const auto advance = [&] {
            const bool goes_on = unit < p.batch.units && first + warp_lanes < stretch.last;
            if (goes_on) walk.advance(p.batch, unit, blocks_of);
            next = BlockPlace(p.batch, walk, goes_on, partial);
            if constexpr (early) next_text = next.load();
        };
        if constexpr (early) advance();
        if (works) {
            if constexpr (M == Mode::ecb) {
                store_block(here.out, cipher_with<inverse, Rounds>(tables, text, key), here.alignment());
            } else if constexpr (M == Mode::cbc) {
                store_block(here.out, cipher_with<inverse, Rounds>(tables, text, key) ^ previous, here.alignment());
            } else {
                const uint4 key_stream = cipher_with<false, Rounds>(tables, previous, key);
                if (here.whole) {
                    store_block(here.out, key_stream ^ text, here.alignment());
                } else {
                    xor_partial_block(here.out, here.in, key_stream, rest, here.alignment());
                }
            }
        }
        if constexpr (!early) advance();
        __syncwarp();
    }
}

template <Mode M, Direction D, int Rounds, int Tables, bool OneKey>
__global__ void __launch_bounds__(BatchBlocks::most_threads(OneKey), 1)
    batch_blocks_kernel(const __grid_constant__ BlockParams p) {
    process_blocks<M, D, Rounds, Tables>(p, keys_of<OneKey>(p.batch));
}

template <Mode M, Direction D, int Rounds, int Tables>
__global__ void __launch_bounds__(BatchBlocks::most_threads(true), 1)
    batch_blocks_few_kernel(const __grid_constant__ BlockParams p, const __grid_constant__ FewKeys keys) {
    process_blocks<M, D, Rounds, Tables>(p, FromFewKeys{keys});
}

namespace {

/// Runs before in-place CBC or CFB decryption, with one thread for each of the `warps` warps of the next kernel.
__global__ void batch_boundaries(const __grid_constant__ BlockParams p, std::uint64_t warps) {
    const std::uint64_t warp = global_thread();
    if (warp >= warps) return;
    const Stretch stretch(p.batch.units, warp, warps);
    if (stretch.first >= stretch.last) return;
    BlockWalk walk;
    walk.begin(p.batch, stretch.first, BlocksOfText{p.batch});
    if (walk.block() == 0) return;
    const BatchGroup& g = p.batch.groups[walk.group()];
    const std::uint8_t* before = global(g.input) + walk.message() * g.input_stride + (walk.block() - 1) * block_bytes;
    p.boundaries[warp] = load_block(before);
}

}  // namespace

Kernel<BlockParams> batch_blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables, bool one_key) {
    constexpr Direction encrypt = Direction::encrypt, decrypt = Direction::decrypt;
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<BlockParams> {
        if (mode == Mode::cbc) return &batch_blocks_kernel<Mode::cbc, decrypt, Rounds, Tables, OneKey>;
        if (mode == Mode::cfb128) return &batch_blocks_kernel<Mode::cfb128, decrypt, Rounds, Tables, OneKey>;
        if (direction == encrypt) return &batch_blocks_kernel<Mode::ecb, encrypt, Rounds, Tables, OneKey>;
        return &batch_blocks_kernel<Mode::ecb, decrypt, Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

Kernel<BlockParams, FewKeys> batch_blocks_few_kernel_for(Mode mode, Direction direction, int rounds, int tables) {
    constexpr Direction encrypt = Direction::encrypt, decrypt = Direction::decrypt;
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<BlockParams, FewKeys> {
        if (mode == Mode::cbc) return &batch_blocks_few_kernel<Mode::cbc, decrypt, Rounds, Tables>;
        if (mode == Mode::cfb128) return &batch_blocks_few_kernel<Mode::cfb128, decrypt, Rounds, Tables>;
        if (direction == encrypt) return &batch_blocks_few_kernel<Mode::ecb, encrypt, Rounds, Tables>;
        return &batch_blocks_few_kernel<Mode::ecb, decrypt, Rounds, Tables>;
    });
}

Kernel<BlockParams, std::uint64_t> batch_boundaries_kernel() {
    return &batch_boundaries;
}

}  // namespace warpaes::cuda
