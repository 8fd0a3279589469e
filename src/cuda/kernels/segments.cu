#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/segments.cuh"

namespace warpaes::cuda {

Kernel segments_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel {
        if (mode == Mode::cfb8) return &cfb8_decrypt_kernel<Rounds, Tables>;
        return &cfb1_decrypt_kernel<Rounds, Tables>;
    });
}

}  // namespace warpaes::cuda
