#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/launch_table.hpp"

namespace warpaes::cuda {

Kernel ctr_kernel_for(int rounds, int tables, bool aligned) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel {
        if (aligned) return &ctr_kernel<Rounds, Tables, ctr_width, true>;
        return &ctr_kernel<Rounds, Tables, ctr_width, false>;
    });
}

}  // namespace warpaes::cuda
