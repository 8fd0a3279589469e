#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash_messages.cuh"

namespace warpaes::cuda {

Kernel<GcmRowsParams> ghash_messages_kernel_for(bool wide) {
    using G = GcmRows;
    if (wide) return &ghash_messages_kernel<G::stages, G::batch, GhashMma::slots, true>;
    return &ghash_messages_kernel<G::stages, G::batch, GhashMma::slots, false>;
}

}  // namespace warpaes::cuda
