// Messages in memory, single and in batches, with VAES, two blocks per register. Compiled for AVX2, AES, VAES and
// VPCLMULQDQ.
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/stream_kernels.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_gcm_siv_vaes256(const SimdGcmSiv& run) {
    gcm_siv<Ymm>(run);
}

const SimdShortCtrKernels short_ctr_vaes256 = short_ctr_kernels<Ymm>;
const SimdShortGcmKernels short_gcm_vaes256 = short_gcm_kernels<Ymm>;

const SimdBatchKernels batch_kernels_vaes256 = {.lanes = Ymm::bytes / 16,
                                                .run = run_vaes256,
                                                .run_messages = run_messages<Ymm, run_vaes256>,
                                                .step_streams = step_streams<Ymm>,
                                                .expand_keys = expand_keys<Ymm>,
                                                .invert_keys = invert_keys<Ymm>,
                                                .gcm_step_blocks = gcm_step_blocks<Ymm>,
                                                .make_powers = make_powers<Ymm>,
                                                .run_gcm_messages = run_gcm_messages<Ymm>};

}  // namespace warpaes::cpu
