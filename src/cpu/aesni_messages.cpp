// Messages in memory, single and in batches, with AES-NI. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/stream_kernels.hpp"

namespace warpaes::cpu {

void run_gcm_siv_aesni(const SimdGcmSiv& run) {
    gcm_siv<Xmm>(run);
}

const SimdShortCtrKernels short_ctr_aesni = short_ctr_kernels<Xmm>;
const SimdShortGcmKernels short_gcm_aesni = short_gcm_kernels<Xmm>;

const SimdBatchKernels batch_kernels_aesni = {.lanes = Xmm::bytes / 16,
                                              .run = run_aesni,
                                              .run_messages = run_messages<Xmm, run_aesni>,
                                              .step_streams = step_streams<Xmm>,
                                              .expand_keys = expand_keys<Xmm>,
                                              .invert_keys = invert_keys<Xmm>,
                                              .gcm_step_blocks = gcm_step_blocks<Xmm>,
                                              .make_powers = make_powers<Xmm>,
                                              .run_gcm_messages = run_gcm_messages<Xmm>};

}  // namespace warpaes::cpu
