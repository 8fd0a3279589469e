// Which kernel does what: one function a family, each defined beside the instantiations it chooses from.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_gcm_params.cuh"
#include "cuda/kernels/batch_serial_params.cuh"
#include "cuda/kernels/gcm_params.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/kernels/xts_params.cuh"

namespace warpaes::cuda {

using Kernel = void (*)(Params);

/// Calls `f.template operator()<Rounds, Tables>()` for the run-time values of both.
template <typename F>
auto with_rounds_and_tables(int rounds, int tables, F f) {
    if (tables == 4) {
        if (rounds == 10) return f.template operator()<10, 4>();
        if (rounds == 12) return f.template operator()<12, 4>();
        return f.template operator()<14, 4>();
    }
    if (rounds == 10) return f.template operator()<10, 2>();
    if (rounds == 12) return f.template operator()<12, 2>();
    return f.template operator()<14, 2>();
}

/// ECB both ways, CBC and CFB128 decryption.
Kernel blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables);
/// `aligned`: both buffers on 16 bytes.
Kernel ctr_kernel_for(int rounds, int tables, bool aligned);
/// CFB8 and CFB1 decryption.
Kernel segments_kernel_for(Mode mode, int rounds, int tables);
/// CBC, CFB128, CFB8, CFB1 encryption and OFB.
Kernel serial_kernel_for(Mode mode, int rounds, int tables);

using SaveBoundaries = void (*)(const std::uint8_t* input, std::uint64_t length, std::uint32_t alignment,
                                std::uint64_t warps, uint4* boundaries);
SaveBoundaries save_boundaries_kernel();

/// AES-128 and -256. `tables` of the cipher that the data takes: 4, 2 or in decryption 1. `plain`: whole blocks on 16
/// bytes.
using XtsKernel = void (*)(XtsParams);
XtsKernel xts_kernel_for(Direction direction, int rounds, int tables, bool plain);

/// Of messages that were decrypted, whether they are authentic: from bytes to statuses.
struct StatusParams {
    const std::uint8_t* failed;
    std::int32_t* statuses;
    std::uint64_t count;
    std::int32_t bad;
};
using StatusKernel = void (*)(StatusParams);
StatusKernel statuses_kernel_for();

using GcmCtrKernel = void (*)(GcmCtrParams);
GcmCtrKernel gcm_ctr_kernel_for(int rounds, int tables, bool aligned);
using RowKernel = void (*)(RowParams);
RowKernel ghash_rows_kernel_for();
/// On tensor cores. `wide`: as compute capability 9.0 has them; `aligned`: every segment on 16 bytes.
RowKernel ghash_mma_kernel_for(bool wide, bool aligned);
using CombineKernel = void (*)(CombineParams);
CombineKernel ghash_combine_kernel_for();

/// Batches of CBC, CFB128, CFB8 and CFB1 encryption, OFB, CMAC and CCM.
using SerialBatchKernel = void (*)(SerialParams);
SerialBatchKernel serial_batch_kernel_for(Mode mode, int rounds, int tables);

/// Batches of GCM, beside their key stream.
using GcmBatchKernel = void (*)(GcmBatchParams);
/// `lanes` a message: 1, 4 or 32.
GcmBatchKernel ghash_batch_kernel_for(int lanes);
GcmBatchKernel ghash_pieces_kernel_for();
GcmBatchKernel gcm_finish_kernel_for();
GcmBatchKernel gcm_j0_kernel_for();
GcmBatchKernel gcm_settle_kernel_for();

}  // namespace warpaes::cuda
