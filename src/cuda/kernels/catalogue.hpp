// Which kernel does what: one function a family, each defined beside the instantiations it chooses from.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/kernels/gcm_params.cuh"
#include "cuda/kernels/params.cuh"

namespace warpaes::cuda {

template <typename... P>
using Kernel = void (*)(P...);

/// Calls `f.template operator()<Rounds>()` for the run-time value.
template <typename F>
auto with_rounds(int rounds, F f) {
    if (rounds == 10) return f.template operator()<10>();
    if (rounds == 12) return f.template operator()<12>();
    return f.template operator()<14>();
}

/// Calls `f.template operator()<Rounds, Tables>()` for the run-time values of both.
template <typename F>
auto with_rounds_and_tables(int rounds, int tables, F f) {
    return with_rounds(rounds, [&]<int Rounds>() {
        return tables == 4 ? f.template operator()<Rounds, 4>() : f.template operator()<Rounds, 2>();
    });
}

/// The same with a property that a kernel has or has not.
template <typename F>
auto with_rounds_and_tables(int rounds, int tables, bool property, F f) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() {
        return property ? f.template operator()<Rounds, Tables, true>()
                        : f.template operator()<Rounds, Tables, false>();
    });
}

/// ECB both ways, CBC and CFB128 decryption.
Kernel<Params> blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables);
/// `aligned`: both buffers on 16 bytes.
Kernel<Params> ctr_kernel_for(int rounds, int tables, bool aligned);
/// Short messages of ECB and CTR; of XTS, AES-128 and -256.
Kernel<ShortParams> short_kernel_for(Mode mode, Direction direction, int rounds);
Kernel<ShortXtsParams> short_xts_kernel_for(Direction direction, int rounds);
/// GCM-SIV's key stream, of AES-128 and -256: `chain` is its first counter block.
Kernel<Params> siv_ctr_kernel_for(int rounds, int tables, bool aligned);
/// CTR's key stream, as numbers.
Kernel<NumbersParams> numbers_kernel_for(int rounds, int tables);
/// CFB8 and CFB1 decryption.
Kernel<Params> segments_kernel_for(Mode mode, int rounds, int tables);
/// CBC, CFB128, CFB8, CFB1 encryption and OFB.
Kernel<Params> serial_kernel_for(Mode mode, int rounds, int tables);

using SaveBoundaries = void (*)(const std::uint8_t* input, std::uint64_t length, std::uint32_t alignment,
                                std::uint64_t warps, uint4* boundaries);
SaveBoundaries save_boundaries_kernel();

/// AES-128 and -256. `tables` of the cipher that the data takes: 4, 2 or in decryption 1. `plain`: whole blocks on 16
/// bytes.
Kernel<XtsParams> xts_kernel_for(Direction direction, int rounds, int tables, bool plain);

Kernel<GcmCtrParams> gcm_ctr_kernel_for(int rounds, int tables, bool aligned);
/// Key stream, GHASH and the tag of one short message.
Kernel<GcmShortParams> gcm_short_kernel_for(int rounds);
/// Of one of medium length. `wide`: as below.
Kernel<GcmPartsParams> gcm_medium_kernel_for(int rounds, int tables, bool wide);
/// And of a long one.
Kernel<GcmPartsParams> gcm_long_kernel_for(int rounds, Direction direction);
Kernel<RowParams> ghash_rows_kernel_for();
/// On tensor cores. `wide`: as compute capability 9.0 has them.
Kernel<RowParams> ghash_mma_kernel_for(bool wide, const Segments& text);
Kernel<CombineParams> ghash_combine_kernel_for();

/// Batches of ECB both ways, CBC and CFB128 decryption.
Kernel<BlockParams> batch_blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables, bool one_key);
Kernel<BlockParams, std::uint64_t> batch_boundaries_kernel();
/// Of CTR, and GCM's key stream.
Kernel<CounterParams> batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages);
/// Of XTS.
Kernel<BatchXtsParams> batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key);
Kernel<BatchXtsParams> batch_tweaks_kernel_for(int rounds, int tables, bool one_key);
/// Of CFB8 and CFB1 decryption.
Kernel<SegmentParams> batch_segments_kernel_for(Mode mode, int rounds, int tables, bool one_key);
/// Copies all messages to `ciphertext`, one behind the other.
Kernel<SegmentParams> batch_copy_kernel_for();
/// Of CBC, CFB128, CFB8 and CFB1 encryption, OFB, CMAC and CCM.
Kernel<SerialParams> serial_batch_kernel_for(Mode mode, int rounds, int tables);
Kernel<KeyParams> batch_keys_kernel_for(int rounds);
/// Of its tables.
inline constexpr int batch_keys_tables = 2;

/// Batches of GCM, beside their key stream. `lanes` a message: 1, 4 or 32.
Kernel<GcmBatchParams> ghash_batch_kernel_for(int lanes);
Kernel<GcmBatchParams> ghash_pieces_kernel_for();
Kernel<GcmBatchParams> gcm_finish_kernel_for();
Kernel<GcmBatchParams> gcm_j0_kernel_for();
Kernel<GcmBatchParams> gcm_settle_kernel_for();
Kernel<StatusParams> statuses_kernel_for();
/// GHASH of long messages under keys of their own, in this order. `lanes` a message: 4 or 32.
Kernel<GhashKeysParams> ghash_powers_kernel_for();
Kernel<GhashKeysParams> ghash_keys_kernel_for(bool wide, bool aligned);
Kernel<GhashKeysParams> ghash_keys_sum_kernel_for(int lanes);

}  // namespace warpaes::cuda
