// Compiled without contraction of multiplications and additions into FMA (src/cuda/CMakeLists.txt): see
// aes/numbers.hpp.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/numbers.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

Kernel<NumbersParams> numbers_kernel_for(int rounds, int tables) {
    const auto choose = [&]<int Rounds, int Tables>() -> Kernel<NumbersParams> {
        return &numbers_kernel<Rounds, Tables, numbers_width>;
    };
    return with_rounds_and_tables(rounds, tables, choose);
}

}  // namespace warpaes::cuda
