// What decryption found, as statuses.
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

__global__ void statuses(StatusParams p) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.count; i += step) {
        p.statuses[i] = p.failed[i] != 0 ? p.bad : 0;
    }
}

}  // namespace

StatusKernel statuses_kernel_for() {
    return statuses;
}

}  // namespace warpaes::cuda
