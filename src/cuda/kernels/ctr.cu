#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

Kernel<Params> ctr_kernel_for(int rounds, int tables, bool aligned) {
    const auto choose = [&]<int Rounds, int Tables, bool Aligned>() -> Kernel<Params> {
        return &ctr_kernel<Rounds, Tables, ctr_width, Aligned>;
    };
    return with_rounds_and_tables(rounds, tables, aligned, choose);
}

}  // namespace warpaes::cuda
