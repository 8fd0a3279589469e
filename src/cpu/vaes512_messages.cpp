// Messages in memory, single and in batches, with VAES, four blocks per register. Compiled for AVX-512 (F, BW, VL),
// AES, VAES and VPCLMULQDQ.
#include "cpu/message_kernels.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_gcm_siv_vaes512(const SimdGcmSiv& run) {
    gcm_siv<Zmm>(run);
}

void run_gcm_siv_vaes512_folding(const SimdGcmSiv& run) {
    gcm_siv<FoldingZmm>(run);
}

const SimdShortCtrKernels short_ctr_vaes512 = short_ctr_kernels<Zmm>;
const SimdShortGcmKernels short_gcm_vaes512 = short_gcm_kernels<Zmm>;
const SimdShortGcmKernels short_gcm_vaes512_folding = short_gcm_kernels<FoldingZmm>;

const SimdBatchKernels batch_kernels_vaes512 = batch_kernels<Zmm, run_vaes512>;

}  // namespace warpaes::cpu
