// VAES with two blocks per register. Compiled for AVX2, AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_vaes256(const SimdRun& run) {
    run_vectors<Ymm>(run);
}

void run_gcm_vaes256(const SimdGcm& run) {
    run_gcm<Ymm>(run);
}

}  // namespace warpaes::cpu
