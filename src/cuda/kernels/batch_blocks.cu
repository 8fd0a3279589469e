#include "cuda/kernels/batch_blocks.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

/// Runs before CBC or CFB decryption in place: one thread for each of the `warps` warps of the kernel that follows.
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
