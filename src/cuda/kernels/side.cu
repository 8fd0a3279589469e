// Copies a batch's side buffer from page-locked memory to the device.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

namespace {

__global__ void copy_side(const __grid_constant__ SideParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t i = global_thread(); i < p.blocks; i += threads) p.to[i] = p.from[i];
}

}  // namespace

Kernel<SideParams> side_kernel_for() {
    return copy_side;
}

}  // namespace warpaes::cuda
