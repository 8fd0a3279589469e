// Context updates on 64-bit Arm. Compiled for AES and PMULL.
#include "cpu/armv8_vector.hpp"
#include "cpu/serial_kernels.hpp"
#include "cpu/update_kernels.hpp"

namespace warpaes::cpu {

const UpdateKernels update_kernels_armv8 = {.name = "armv8",
                                            .description = "Armv8 AES and PMULL, 8 blocks in flight",
                                            .run = run_armv8,
                                            .gcm = gcm_update<Neon>,
                                            .hash = hash_update<Neon, update_powers>,
                                            .extend_powers = extend_powers<Neon>};

const serial::Kernels& serial::kernels(int rounds) {
    return kernels_for<Neon>(rounds);
}

}  // namespace warpaes::cpu
