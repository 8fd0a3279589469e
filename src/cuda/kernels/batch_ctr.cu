#include "cuda/kernels/batch_ctr.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

CounterKernel batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> CounterKernel {
        if (long_messages) {
            return one_key ? &batch_long_ctr_kernel<Rounds, Tables, true>
                           : &batch_long_ctr_kernel<Rounds, Tables, false>;
        }
        return one_key ? &batch_ctr_kernel<Rounds, Tables, true> : &batch_ctr_kernel<Rounds, Tables, false>;
    });
}

}  // namespace warpaes::cuda
