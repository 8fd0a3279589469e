#include "cuda/kernels/batch_xts.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

Kernel<BatchXtsParams> batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<BatchXtsParams> {
        if (direction == Direction::encrypt) return &batch_xts_kernel<Direction::encrypt, Rounds, Tables, OneKey>;
        return &batch_xts_kernel<Direction::decrypt, Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

Kernel<BatchXtsParams, FewKeys> batch_xts_few_kernel_for(Direction direction, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<BatchXtsParams, FewKeys> {
        if (direction == Direction::encrypt) return &batch_xts_few_kernel<Direction::encrypt, Rounds, Tables>;
        return &batch_xts_few_kernel<Direction::decrypt, Rounds, Tables>;
    });
}

Kernel<BatchXtsParams> batch_tweaks_kernel_for(int rounds, int tables, bool one_key) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<BatchXtsParams> {
        return &batch_tweaks_kernel<Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

}  // namespace warpaes::cuda
