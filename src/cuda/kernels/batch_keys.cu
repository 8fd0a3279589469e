#include "cuda/kernels/batch_keys.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/tuning/keys.hpp"

namespace warpaes::cuda {

Kernel<KeyParams> batch_keys_kernel_for(int rounds) {
    constexpr int tables = BatchKeysLaunch::tables;
    if (rounds == 10) return &batch_keys_kernel<10, tables>;
    return rounds == 12 ? &batch_keys_kernel<12, tables> : &batch_keys_kernel<14, tables>;
}

}  // namespace warpaes::cuda
