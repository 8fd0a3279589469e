// VAES with two blocks per register. Compiled for AVX2, AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_vaes256(const SimdRun& run) {
    run_vectors<Ymm>(run);
}

void run_gcm_vaes256(const SimdGcm& run) {
    run_gcm<Ymm>(run);
}

void run_gcm_siv_vaes256(const SimdGcmSiv& run) {
    gcm_siv<Ymm>(run);
}

const SimdShortCtrKernels short_ctr_vaes256 = short_ctr_kernels<Ymm>;
const SimdShortGcmKernels short_gcm_vaes256 = short_gcm_kernels<Ymm>;

}  // namespace warpaes::cpu
