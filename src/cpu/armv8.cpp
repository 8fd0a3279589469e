// The AES and PMULL instructions of 64-bit Arm. Compiled for both.
#include "cpu/armv8_vector.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/siv_modes.hpp"

namespace warpaes::cpu {

void run_armv8(const SimdRun& run) {
    run_vectors<Neon>(run);
}

void run_gcm_armv8(const SimdGcm& run) {
    run_gcm<FoldingNeon>(run);
}

void run_gcm_siv_armv8(const SimdGcmSiv& run) {
    gcm_siv<FoldingNeon>(run);
}

const SimdShortCtrKernels short_ctr_armv8 = short_ctr_kernels<Neon>;
const SimdShortGcmKernels short_gcm_armv8 = short_gcm_kernels<FoldingNeon>;

}  // namespace warpaes::cpu
