#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/short.cuh"

namespace warpaes::cuda {

Kernel<ShortParams> short_kernel_for(Mode mode, Direction direction, int rounds) {
    return with_rounds(rounds, [&]<int Rounds>() -> Kernel<ShortParams> {
        if (mode == Mode::ctr) return &short_kernel<Mode::ctr, Direction::encrypt, Rounds, ShortParams>;
        if (direction == Direction::encrypt) {
            return &short_kernel<Mode::ecb, Direction::encrypt, Rounds, ShortParams>;
        }
        return &short_kernel<Mode::ecb, Direction::decrypt, Rounds, ShortParams>;
    });
}

Kernel<ShortXtsParams> short_xts_kernel_for(Direction direction, int rounds) {
    const auto choose = [&]<int Rounds>() -> Kernel<ShortXtsParams> {
        if (direction == Direction::encrypt) {
            return &short_kernel<Mode::xts, Direction::encrypt, Rounds, ShortXtsParams>;
        }
        return &short_kernel<Mode::xts, Direction::decrypt, Rounds, ShortXtsParams>;
    };
    return rounds == 10 ? choose.operator()<10>() : choose.operator()<14>();
}

}  // namespace warpaes::cuda
