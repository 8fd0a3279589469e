#include "cuda/kernels/batch_ctr.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

Kernel<CounterParams> batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<CounterParams> {
        if (long_messages) return &batch_ctr_kernel<Rounds, Tables, true, OneKey>;
        return &batch_ctr_kernel<Rounds, Tables, false, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

Kernel<CounterParams, FewKeys> batch_ctr_few_kernel_for(int rounds, int tables, bool long_messages) {
    const auto choose = [&]<int Rounds, int Tables, bool Long>() -> Kernel<CounterParams, FewKeys> {
        return &batch_ctr_few_kernel<Rounds, Tables, Long>;
    };
    return with_rounds_and_tables(rounds, tables, long_messages, choose);
}

}  // namespace warpaes::cuda
