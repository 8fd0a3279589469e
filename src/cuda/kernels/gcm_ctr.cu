#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_ctr.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

Kernel<GcmCtrParams> gcm_ctr_kernel_for(int rounds, int tables, bool aligned) {
    const auto choose = [&]<int Rounds, int Tables, bool Aligned>() -> Kernel<GcmCtrParams> {
        return &gcm_ctr_kernel<Rounds, Tables, gcm_ctr_width, Aligned>;
    };
    return with_rounds_and_tables(rounds, tables, aligned, choose);
}

}  // namespace warpaes::cuda
