// Context updates with VAES, two blocks per register. Compiled for AVX2, AES, VAES and VPCLMULQDQ.
#include "cpu/update_kernels.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

const UpdateKernels update_kernels_vaes256 = {.name = "vaes",
                                              .description = "VAES, 256-bit (AVX2)",
                                              .run = run_vaes256,
                                              .gcm = gcm_update<Ymm>,
                                              .hash = hash_update<Ymm, update_powers>,
                                              .extend_powers = extend_powers<Ymm>};

}  // namespace warpaes::cpu
