// Batches with VAES, four blocks per register. Compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/message_kernels.hpp"
#include "cpu/stream_kernels.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

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
