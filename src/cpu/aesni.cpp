// AES-NI with one block per register. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/simd_modes.hpp"

namespace warpaes::cpu {

void run_aesni(const SimdRun& run) {
    run_vectors<Xmm>(run);
}

void run_gcm_aesni(const SimdGcm& run) {
    run_gcm<Xmm>(run);
}

}  // namespace warpaes::cpu
