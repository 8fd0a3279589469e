#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/serial.cuh"

namespace warpaes::cuda {

Kernel<Params> serial_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<Params> {
        switch (mode) {
        case Mode::cbc:
            return &serial_kernel<Mode::cbc, Rounds, Tables>;
        case Mode::cfb128:
            return &serial_kernel<Mode::cfb128, Rounds, Tables>;
        case Mode::cfb8:
            return &serial_kernel<Mode::cfb8, Rounds, Tables>;
        case Mode::cfb1:
            return &serial_kernel<Mode::cfb1, Rounds, Tables>;
        default:
            return &serial_kernel<Mode::ofb, Rounds, Tables>;
        }
    });
}

}  // namespace warpaes::cuda
