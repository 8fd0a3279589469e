#include "cuda/kernels/batch_blocks.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

/// Before in-place CBC or CFB decryption: one thread a warp of the kernel that follows (`warps` of them).
__global__ void batch_boundaries(const __grid_constant__ BlockParams p, std::uint64_t warps) {
    const std::uint64_t warp = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (warp >= warps) return;
    const Stretch stretch(p.batch.units, warp, warps);
    if (stretch.first >= stretch.last) return;
    BlockWalk walk;
    walk.begin(p.batch, stretch.first, BlocksOfText{p.batch});
    if (walk.block() == 0) return;
    const BatchGroup& g = p.batch.groups[walk.group()];
    const std::uint8_t* before = global(g.input) + walk.message() * g.input_stride + (walk.block() - 1) * block_bytes;
    p.boundaries[warp] = load_block(before, alignment_of(before, before));
}

template <Mode M, Direction D, int Rounds, int Tables>
BlockKernel choose(bool one_key) {
    return one_key ? &batch_blocks_kernel<M, D, Rounds, Tables, true>
                   : &batch_blocks_kernel<M, D, Rounds, Tables, false>;
}

}  // namespace

BlockKernel batch_blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables, bool one_key) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> BlockKernel {
        if (mode == Mode::cbc) return choose<Mode::cbc, Direction::decrypt, Rounds, Tables>(one_key);
        if (mode == Mode::cfb128) return choose<Mode::cfb128, Direction::decrypt, Rounds, Tables>(one_key);
        if (direction == Direction::encrypt) return choose<Mode::ecb, Direction::encrypt, Rounds, Tables>(one_key);
        return choose<Mode::ecb, Direction::decrypt, Rounds, Tables>(one_key);
    });
}

BatchBoundaries batch_boundaries_kernel() {
    return &batch_boundaries;
}

}  // namespace warpaes::cuda
