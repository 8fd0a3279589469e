#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/gcm_long.cuh"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

Kernel<GcmPartsParams> gcm_long_kernel_for(int rounds, Direction direction) {
    const auto choose = [&]<int Rounds, int Tables, bool Encrypts>() -> Kernel<GcmPartsParams> {
        return &gcm_long_kernel<Rounds, Encrypts>;
    };
    return with_rounds_and_tables(rounds, GcmLong::tables, direction == Direction::encrypt, choose);
}

}  // namespace warpaes::cuda
