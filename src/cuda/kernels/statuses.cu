// Converts decryption results, one byte per message, to statuses.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

__global__ void statuses(StatusParams p) {
    const std::uint64_t threads = global_threads();
    for (std::uint64_t i = global_thread(); i < p.messages; i += threads) {
        const BatchMessage m(p, i);
        std::int32_t* const statuses = global(m.group->statuses);
        if (statuses == nullptr) continue;
        statuses[m.index] = m.group->failed != nullptr && m.group->failed[m.index] != 0 ? p.bad : 0;
    }
}

}  // namespace

Kernel<StatusParams> statuses_kernel_for() {
    return statuses;
}

}  // namespace warpaes::cuda
