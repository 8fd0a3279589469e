#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/siv.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

Kernel<Params> siv_ctr_kernel_for(int rounds, int tables, bool aligned) {
    const auto choose = [&]<int Rounds, int Tables, bool Aligned>() -> Kernel<Params> {
        if constexpr (Rounds == 12) {
            return nullptr;  // GCM-SIV does not use AES-192
        } else {
            return &ctr_kernel<Rounds, Tables, ctr_width, Aligned, SivCounter>;
        }
    };
    return with_rounds_and_tables(rounds, tables, aligned, choose);
}

}  // namespace warpaes::cuda
