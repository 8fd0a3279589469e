// VAES with four blocks per register, for all modes except GCM. Compiled for AVX-512 (F, BW, VL), AES, VAES and
// VPCLMULQDQ.
#include "cpu/simd_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_vaes512(const SimdRun& run) {
    run_vectors<Zmm>(run);
}

}  // namespace warpaes::cpu
