#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_short.cuh"

namespace warpaes::cuda {

Kernel<GcmShortParams> gcm_short_kernel_for(int rounds) {
    return with_rounds(rounds, []<int Rounds>() -> Kernel<GcmShortParams> { return &gcm_short_kernel<Rounds>; });
}

}  // namespace warpaes::cuda
