#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_medium.cuh"

namespace warpaes::cuda {

Kernel<GcmPartsParams> gcm_medium_kernel_for(int rounds, int tables, bool wide) {
    const auto choose = [&]<int Rounds, int Tables, bool Wide>() -> Kernel<GcmPartsParams> {
        return &gcm_medium_kernel<Rounds, Tables, Wide>;
    };
    return with_rounds_and_tables(rounds, tables, wide, choose);
}

}  // namespace warpaes::cuda
