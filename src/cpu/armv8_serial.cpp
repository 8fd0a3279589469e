// A single message, block after block, on 64-bit Arm. Compiled for AES and PMULL.
#include "cpu/armv8_vector.hpp"
#include "cpu/serial_kernels.hpp"

namespace warpaes::cpu::serial {

const Kernels& kernels(int rounds) {
    return kernels_for<Neon>(rounds);
}

}  // namespace warpaes::cpu::serial
