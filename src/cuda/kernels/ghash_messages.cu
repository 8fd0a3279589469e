#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash_messages.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

namespace {

template <bool Aligned>
Kernel<GcmRowsParams> kernel_for(bool wide) {
    if (wide) return &ghash_messages_kernel<GcmRows::batch, GcmRows::depth, GhashMma::slots, Aligned, true>;
    return &ghash_messages_kernel<GcmRows::batch, GcmRows::depth, GhashMma::slots, Aligned, false>;
}

}  // namespace

Kernel<GcmRowsParams> ghash_messages_kernel_for(bool wide, bool aligned) {
    return aligned ? kernel_for<true>(wide) : kernel_for<false>(wide);
}

}  // namespace warpaes::cuda
