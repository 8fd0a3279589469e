#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/xts.cuh"

namespace warpaes::cuda {

namespace {

template <Direction D, int Rounds, int Tables>
Kernel<XtsParams> choose(bool plain) {
    return plain ? &xts_kernel<D, Rounds, Tables, true> : &xts_kernel<D, Rounds, Tables, false>;
}

template <int Rounds>
Kernel<XtsParams> choose(Direction direction, int tables, bool plain) {
    if (direction == Direction::encrypt) {
        return tables == 4 ? choose<Direction::encrypt, Rounds, 4>(plain)
                           : choose<Direction::encrypt, Rounds, 2>(plain);
    }
    if (tables == 4) return choose<Direction::decrypt, Rounds, 4>(plain);
    return tables == 2 ? choose<Direction::decrypt, Rounds, 2>(plain) : choose<Direction::decrypt, Rounds, 1>(plain);
}

}  // namespace

Kernel<XtsParams> xts_kernel_for(Direction direction, int rounds, int tables, bool plain) {
    return rounds == 10 ? choose<10>(direction, tables, plain) : choose<14>(direction, tables, plain);
}

}  // namespace warpaes::cuda
