// Messages in memory, single and in batches, with VAES, two blocks per register. Compiled for AVX2, AES, VAES and
// VPCLMULQDQ.
#include "cpu/message_kernels.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_gcm_siv_vaes256(const SimdGcmSiv& run) {
    gcm_siv<Ymm>(run);
}

const SimdShortCtrKernels short_ctr_vaes256 = short_ctr_kernels<Ymm>;
const SimdShortGcmKernels short_gcm_vaes256 = short_gcm_kernels<Ymm>;

const SimdBatchKernels batch_kernels_vaes256 = batch_kernels<Ymm, run_vaes256>;

}  // namespace warpaes::cpu
