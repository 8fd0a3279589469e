#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

namespace {

template <Rows As>
Kernel<RowParams> kernel_for(bool wide) {
    using G = GhashMma;
    if (wide) return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, As, true>;
    return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, As, false>;
}

}  // namespace

Kernel<RowParams> ghash_mma_kernel_for(bool wide, const Segments& text) {
    if (text.alignment != 16) return kernel_for<Rows::any>(wide);
    return text.reversed ? kernel_for<Rows::reversed>(wide) : kernel_for<Rows::aligned>(wide);
}

}  // namespace warpaes::cuda
