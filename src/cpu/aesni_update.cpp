// Context updates with AES-NI. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/serial_kernels.hpp"
#include "cpu/update_kernels.hpp"

namespace warpaes::cpu {

const UpdateKernels update_kernels_aesni = {.name = "aesni",
                                            .description = "AES-NI, 8 blocks in flight",
                                            .run = run_aesni,
                                            .gcm = gcm_update<Xmm>,
                                            .hash = hash_update<Xmm, update_powers>,
                                            .extend_powers = extend_powers<Xmm>};

const serial::Kernels& serial::kernels(int rounds) {
    return kernels_for<Xmm>(rounds);
}

}  // namespace warpaes::cpu
