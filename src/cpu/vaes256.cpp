// VAES, two blocks a register. Compiled for AVX2, AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_vaes256(const SimdRun& run) {
    run_vectors<Ymm>(run);
}

void run_gcm_vaes256(const SimdGcm& run) {
    run_gcm<Ymm>(run);
}

const SimdShortKernels short_kernels_vaes256 = make_short_kernels<Ymm>();

}  // namespace warpaes::cpu
