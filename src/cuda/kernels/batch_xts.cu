#include "cuda/kernels/batch_xts.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

BatchXtsKernel batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> BatchXtsKernel {
        if (direction == Direction::encrypt) {
            return one_key ? &batch_xts_kernel<Direction::encrypt, Rounds, Tables, true>
                           : &batch_xts_kernel<Direction::encrypt, Rounds, Tables, false>;
        }
        return one_key ? &batch_xts_kernel<Direction::decrypt, Rounds, Tables, true>
                       : &batch_xts_kernel<Direction::decrypt, Rounds, Tables, false>;
    });
}

BatchXtsKernel batch_tweaks_kernel_for(int rounds, int tables, bool one_key) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> BatchXtsKernel {
        return one_key ? &batch_tweaks_kernel<Rounds, Tables, true> : &batch_tweaks_kernel<Rounds, Tables, false>;
    });
}

}  // namespace warpaes::cuda
