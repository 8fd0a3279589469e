// Batches by AES-NI, one block a register. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/stream_kernels.hpp"

namespace warpaes::cpu {

const SimdBatchKernels batch_kernels_aesni = {.lanes = Xmm::bytes / 16,
                                              .run = run_aesni,
                                              .step_streams = step_streams<Xmm>,
                                              .expand_keys = expand_keys<Xmm>,
                                              .invert_keys = invert_keys<Xmm>};

}  // namespace warpaes::cpu
