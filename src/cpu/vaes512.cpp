// VAES with four blocks per register, all modes but GCM. Compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ.
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_vaes512(const SimdRun& run) {
    run_vectors<Zmm>(run);
}

const SimdShortCtrKernels short_ctr_vaes512 = short_ctr_kernels<Zmm>;

}  // namespace warpaes::cpu
