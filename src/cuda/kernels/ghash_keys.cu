#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ghash_keys.cuh"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

Kernel<GhashKeysParams> ghash_powers_kernel_for() {
    return &ghash_powers_kernel;
}

Kernel<RunPowersParams> ghash_run_powers_kernel_for() {
    return &ghash_run_powers_kernel;
}

Kernel<GhashKeysParams> ghash_keys_kernel_for(bool wide, bool aligned) {
    using G = GhashMma;
    if (wide) {
        if (aligned) return &ghash_keys_kernel<G::stages, G::batch, G::slots, true, true>;
        return &ghash_keys_kernel<G::stages, G::batch, G::slots, false, true>;
    }
    if (aligned) return &ghash_keys_kernel<G::stages, G::batch, G::slots, true, false>;
    return &ghash_keys_kernel<G::stages, G::batch, G::slots, false, false>;
}

Kernel<GhashKeysParams> ghash_keys_sum_kernel_for(int lanes) {
    return lanes == 4 ? &ghash_keys_sum_kernel<4> : &ghash_keys_sum_kernel<32>;
}

}  // namespace warpaes::cuda
