// Messages in memory, single and in batches, with AES-NI. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/message_kernels.hpp"

namespace warpaes::cpu {

void run_gcm_siv_aesni(const SimdGcmSiv& run) {
    gcm_siv<Xmm>(run);
}

const SimdShortCtrKernels short_ctr_aesni = short_ctr_kernels<Xmm>;
const SimdShortGcmKernels short_gcm_aesni = short_gcm_kernels<Xmm>;

const SimdBatchKernels batch_kernels_aesni = batch_kernels<Xmm, run_aesni>;

}  // namespace warpaes::cpu
