#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_short.cuh"

namespace warpaes::cuda {

Kernel<GcmMessageParams> gcm_short_kernel_for(int rounds, int tables, bool wide) {
    const auto choose = [&]<int Rounds, int Tables, bool Wide>() -> Kernel<GcmMessageParams> {
        return &gcm_short_kernel<Rounds, Tables, Wide>;
    };
    return with_rounds_and_tables(rounds, tables, wide, choose);
}

}  // namespace warpaes::cuda
