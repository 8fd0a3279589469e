// Messages in memory, single and in batches, on 64-bit Arm. Compiled for AES and PMULL.
#include "cpu/armv8_vector.hpp"
#include "cpu/message_kernels.hpp"

namespace warpaes::cpu {

void run_gcm_siv_armv8(const SimdGcmSiv& run) {
    gcm_siv<FoldingNeon>(run);
}

const SimdShortCtrKernels short_ctr_armv8 = short_ctr_kernels<Neon>;
const SimdShortGcmKernels short_gcm_armv8 = short_gcm_kernels<FoldingNeon>;

const SimdBatchKernels batch_kernels_armv8 = batch_kernels<Neon, run_armv8>;

}  // namespace warpaes::cpu
