// VAES with four blocks per register. Compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_vaes512(const SimdRun& run) {
    run_vectors<Zmm>(run);
}

void run_gcm_vaes512(const SimdGcm& run) {
    run_gcm<Zmm>(run);
}

void run_gcm_siv_vaes512(const SimdGcmSiv& run) {
    gcm_siv<Zmm>(run);
}

const SimdShortCtrKernels short_ctr_vaes512 = short_ctr_kernels<Zmm>;
const SimdShortGcmKernels short_gcm_vaes512 = short_gcm_kernels<Zmm>;

}  // namespace warpaes::cpu
