// Batches on 64-bit Arm. Compiled for AES and PMULL.
#include "cpu/armv8_vector.hpp"
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/stream_kernels.hpp"

namespace warpaes::cpu {

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
