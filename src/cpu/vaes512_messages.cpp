// Messages in memory, single and in batches, with VAES, four blocks per register. Compiled for AVX-512 (F, BW, VL),
// AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/stream_kernels.hpp"
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

const SimdBatchKernels batch_kernels_vaes512 = {.lanes = Zmm::bytes / 16,
                                                .run = run_vaes512,
                                                .run_messages = run_messages<Zmm, run_vaes512>,
                                                .step_streams = step_streams<Zmm>,
                                                .expand_keys = expand_keys<Zmm>,
                                                .invert_keys = invert_keys<Zmm>,
                                                .gcm_step_blocks = gcm_step_blocks<Zmm>,
                                                .make_powers = make_powers<Zmm>,
                                                .run_gcm_messages = run_gcm_messages<Zmm>};

}  // namespace warpaes::cpu
