#include "cuda/kernels/blocks.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

/// Runs before in-place CBC or CFB decryption, with one thread for each of the `warps` warps of the next kernel.
__global__ void save_boundaries(const std::uint8_t* input, std::uint64_t length, std::uint32_t alignment,
                                std::uint64_t warps, uint4* boundaries) {
    const std::uint64_t warp = global_thread();
    if (warp >= warps) return;
    const Stretch stretch((length + block_bytes - 1) / block_bytes, warp, warps);
    if (stretch.first == 0 || stretch.first >= stretch.last) return;
    boundaries[warp] = load_block(input + (stretch.first - 1) * block_bytes, alignment);
}

}  // namespace

SaveBoundaries save_boundaries_kernel() {
    return &save_boundaries;
}

Kernel<Params> blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<Params> {
        if (mode == Mode::cbc) return &blocks_kernel<Mode::cbc, Direction::decrypt, Rounds, Tables>;
        if (mode == Mode::cfb128) return &blocks_kernel<Mode::cfb128, Direction::decrypt, Rounds, Tables>;
        if (direction == Direction::encrypt) return &blocks_kernel<Mode::ecb, Direction::encrypt, Rounds, Tables>;
        return &blocks_kernel<Mode::ecb, Direction::decrypt, Rounds, Tables>;
    });
}

}  // namespace warpaes::cuda
