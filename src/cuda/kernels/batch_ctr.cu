#include "cuda/kernels/batch_ctr.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

Kernel<CounterParams> batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<CounterParams> {
        if (long_messages) return &batch_long_ctr_kernel<Rounds, Tables, OneKey>;
        return &batch_ctr_kernel<Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

}  // namespace warpaes::cuda
