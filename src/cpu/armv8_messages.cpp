// Messages in memory, single and in batches, on 64-bit Arm. Compiled for AES and PMULL.
#include "cpu/armv8_vector.hpp"
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/stream_kernels.hpp"

namespace warpaes::cpu {

void run_gcm_siv_armv8(const SimdGcmSiv& run) {
    gcm_siv<FoldingNeon>(run);
}

const SimdShortCtrKernels short_ctr_armv8 = short_ctr_kernels<Neon>;
const SimdShortGcmKernels short_gcm_armv8 = short_gcm_kernels<FoldingNeon>;

const SimdBatchKernels batch_kernels_armv8 = {.lanes = Neon::bytes / 16,
                                              .run = run_armv8,
                                              .run_messages = run_messages<Neon, run_armv8>,
                                              .step_streams = step_streams<Neon>,
                                              .expand_keys = expand_keys<Neon>,
                                              .invert_keys = invert_keys<Neon>,
                                              .gcm_step_blocks = gcm_step_blocks<Neon>,
                                              .make_powers = make_powers<Neon>,
                                              .run_gcm_messages = run_gcm_messages<Neon>};

}  // namespace warpaes::cpu
