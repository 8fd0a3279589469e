#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

Kernel<RowParams> ghash_mma_kernel_for(bool wide, bool aligned) {
    using G = GhashMma;
    if (wide) {
        if (aligned) return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, true, true>;
        return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, false, true>;
    }
    if (aligned) return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, true, false>;
    return &ghash_mma_kernel<G::stages, G::batch, G::slots, G::threads, false, false>;
}

}  // namespace warpaes::cuda
