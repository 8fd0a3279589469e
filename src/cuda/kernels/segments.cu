#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/segments.cuh"

namespace warpaes::cuda {

Kernel<Params> segments_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<Params> {
        if (mode == Mode::cfb8) return &segments_kernel<Mode::cfb8, Rounds, Tables>;
        return &segments_kernel<Mode::cfb1, Rounds, Tables>;
    });
}

}  // namespace warpaes::cuda
