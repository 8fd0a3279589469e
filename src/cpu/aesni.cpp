// AES-NI with one block per register. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/siv_modes.hpp"

namespace warpaes::cpu {

void run_aesni(const SimdRun& run) {
    run_vectors<Xmm>(run);
}

void run_gcm_aesni(const SimdGcm& run) {
    run_gcm<Xmm>(run);
}

void run_gcm_siv_aesni(const SimdGcmSiv& run) {
    gcm_siv<Xmm>(run);
}

const SimdShortCtrKernels short_ctr_aesni = short_ctr_kernels<Xmm>;
const SimdShortGcmKernels short_gcm_aesni = short_gcm_kernels<Xmm>;

}  // namespace warpaes::cpu
