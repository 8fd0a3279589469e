#include "cuda/kernels/batch_serial.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

Kernel<SerialParams> serial_batch_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<SerialParams> {
        switch (mode) {
        case Mode::cbc:
            return &serial_batch_kernel<Mode::cbc, Rounds, Tables>;
        case Mode::cfb128:
            return &serial_batch_kernel<Mode::cfb128, Rounds, Tables>;
        case Mode::cfb8:
            return &serial_batch_kernel<Mode::cfb8, Rounds, Tables>;
        case Mode::cfb1:
            return &serial_batch_kernel<Mode::cfb1, Rounds, Tables>;
        case Mode::ofb:
            return &serial_batch_kernel<Mode::ofb, Rounds, Tables>;
        case Mode::ccm:
            return &serial_batch_kernel<Mode::ccm, Rounds, Tables>;
        default:
            return &serial_batch_kernel<Mode::cmac, Rounds, Tables>;
        }
    });
}

}  // namespace warpaes::cuda
