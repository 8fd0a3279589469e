// Converts what decryption found, one byte per message, to statuses.
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

__global__ void statuses(StatusParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t i = global_thread(); i < p.count; i += threads) {
        p.statuses[i] = p.failed[i] != 0 ? p.bad : 0;
    }
}

}  // namespace

Kernel<StatusParams> statuses_kernel_for() {
    return statuses;
}

}  // namespace warpaes::cuda
