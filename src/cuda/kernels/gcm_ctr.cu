#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_ctr.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

GcmCtrKernel gcm_ctr_kernel_for(int rounds, int tables, bool aligned) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> GcmCtrKernel {
        if (aligned) return &gcm_ctr_kernel<Rounds, Tables, gcm_ctr_width, true>;
        return &gcm_ctr_kernel<Rounds, Tables, gcm_ctr_width, false>;
    });
}

}  // namespace warpaes::cuda
