#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/siv.cuh"

namespace warpaes::cuda {

namespace {

/// The blocks of `bytes` bytes, the last filled up with zeros, reversed one by one.
__global__ void __launch_bounds__(256)
    reverse_blocks_kernel(const std::uint8_t* from, std::uint64_t bytes, std::uint32_t alignment, uint4* to) {
    const std::uint64_t whole = bytes / block_bytes;
    const auto rest = static_cast<unsigned>(bytes % block_bytes);
    const std::uint64_t step = global_warps() * warp_lanes;
    for (std::uint64_t at = global_warp() * warp_lanes + lane_id(); at < whole + (rest != 0); at += step) {
        const std::uint8_t* const block = from + at * block_bytes;
        const uint4 v = at < whole ? load_block(block, alignment) : load_tail(block, rest);
        to[at] = make_uint4(byte_swap(v.w), byte_swap(v.z), byte_swap(v.y), byte_swap(v.x));
    }
}

}  // namespace

Kernel<Params> siv_ctr_kernel_for(int rounds, int tables) {
    if (tables == 4) return rounds == 10 ? &siv_ctr_kernel<10, 4> : &siv_ctr_kernel<14, 4>;
    return rounds == 10 ? &siv_ctr_kernel<10, 2> : &siv_ctr_kernel<14, 2>;
}

ReverseBlocks reverse_blocks_kernel_for() {
    return &reverse_blocks_kernel;
}

}  // namespace warpaes::cuda
