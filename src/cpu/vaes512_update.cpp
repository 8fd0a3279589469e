// Context updates with VAES, four blocks per register. Compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ.
#include "cpu/update_kernels.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

const UpdateKernels update_kernels_vaes512 = {.name = "vaes",
                                              .description = "VAES, 512-bit (AVX-512)",
                                              .run = run_vaes512,
                                              .gcm = gcm_update<Zmm>,
                                              .hash = hash_update<Zmm, update_powers>,
                                              .extend_powers = extend_powers<Zmm>};

}  // namespace warpaes::cpu
