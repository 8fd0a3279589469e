// A single message, block after block, with AES-NI. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/serial_kernels.hpp"

namespace warpaes::cpu::serial {

const Kernels& kernels(int rounds) {
    return kernels_for<Xmm>(rounds);
}

}  // namespace warpaes::cpu::serial
