// Selects kernels: one function per family of kernels, defined in the file that instantiates the family.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/kernels/gcm_params.cuh"
#include "cuda/kernels/params.cuh"

namespace warpaes::cuda {

template <typename... P>
using Kernel = void (*)(P...);

/// Calls `f.template operator()<Rounds>()` for a run-time number of rounds.
template <typename F>
auto with_rounds(int rounds, F f) {
    if (rounds == 10) return f.template operator()<10>();
    if (rounds == 12) return f.template operator()<12>();
    return f.template operator()<14>();
}

/// Calls `f.template operator()<Rounds, Tables>()` for a run-time number of rounds and of tables.
template <typename F>
auto with_rounds_and_tables(int rounds, int tables, F f) {
    return with_rounds(rounds, [&]<int Rounds>() {
        return tables == 4 ? f.template operator()<Rounds, 4>() : f.template operator()<Rounds, 2>();
    });
}

/// Like the overload above, with a boolean property of the kernel as the third template argument.
template <typename F>
auto with_rounds_and_tables(int rounds, int tables, bool property, F f) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() {
        return property ? f.template operator()<Rounds, Tables, true>()
                        : f.template operator()<Rounds, Tables, false>();
    });
}

/// ECB encryption and decryption, CBC and CFB128 decryption.
Kernel<Params> blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables);
/// `aligned` means that both buffers are aligned to 16 bytes.
Kernel<Params> ctr_kernel_for(int rounds, int tables, bool aligned);
/// Short ECB and CTR messages, and short XTS messages with AES-128 and AES-256.
Kernel<ShortParams> short_kernel_for(Mode mode, Direction direction, int rounds);
Kernel<ShortXtsParams> short_xts_kernel_for(Direction direction, int rounds);
/// GCM-SIV's key stream, with AES-128 and AES-256. `Params::chain` is the first counter block.
Kernel<Params> siv_ctr_kernel_for(int rounds, int tables, bool aligned);
/// Random numbers from CTR's key stream.
Kernel<NumbersParams> numbers_kernel_for(int rounds, int tables);
/// CFB8 and CFB1 decryption.
Kernel<Params> segments_kernel_for(Mode mode, int rounds, int tables);
/// CBC, CFB128, CFB8, CFB1 encryption and OFB.
Kernel<Params> serial_kernel_for(Mode mode, int rounds, int tables);

using SaveBoundaries = void (*)(const std::uint8_t* input, std::uint64_t length, std::uint32_t alignment,
                                std::uint64_t warps, uint4* boundaries);
SaveBoundaries save_boundaries_kernel();

/// XTS with AES-128 and AES-256. `tables` is the number of tables for the data's direction: 4, 2 or, for decryption
/// only, 1. `plain` means that all data units consist of whole blocks and all buffers are aligned to 16 bytes.
Kernel<XtsParams> xts_kernel_for(Direction direction, int rounds, int tables, bool plain);

/// GCM's key stream, and E(J0).
Kernel<GcmCtrParams> gcm_ctr_kernel_for(int rounds, int tables, bool aligned);
/// Key stream, GHASH and tag of one short GCM message.
Kernel<GcmShortParams> gcm_short_kernel_for(int rounds);
/// The kernel for a message of medium length; `wide` is as for ghash_mma_kernel_for().
Kernel<GcmPartsParams> gcm_medium_kernel_for(int rounds, int tables, bool wide);
/// The kernel for a long message, which uses wide_mma.
Kernel<GcmPartsParams> gcm_long_kernel_for(int rounds, Direction direction);
Kernel<WipeParams> wipe_rows_kernel_for();
/// Wipes a message if the tag that the previous kernel has computed is not the expected tag.
Kernel<WipeIfWrongParams> wipe_if_wrong_kernel_for();
/// Level 0 of GHASH, with integer products.
Kernel<RowParams> ghash_rows_kernel_for();
/// Level 0 of GHASH on tensor cores. `wide` means that wide_mma is used, on compute capability 9.0.
Kernel<RowParams> ghash_mma_kernel_for(bool wide, const Segments& text);
/// The higher levels of GHASH.
Kernel<CombineParams> ghash_combine_kernel_for();

/// Batches of ECB encryption and decryption, CBC and CFB128 decryption.
Kernel<BlockParams> batch_blocks_kernel_for(Mode mode, Direction direction, int rounds, int tables, bool one_key);
/// The functions with `few` in their names are for batches with at most FewKeys::most keys, which are the kernel's
/// second parameter.
Kernel<BlockParams, FewKeys> batch_blocks_few_kernel_for(Mode mode, Direction direction, int rounds, int tables);
Kernel<BlockParams, std::uint64_t> batch_boundaries_kernel();
/// CTR batches, and the key stream of GCM batches.
Kernel<CounterParams> batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages);
Kernel<CounterParams, FewKeys> batch_ctr_few_kernel_for(int rounds, int tables, bool long_messages);
Kernel<BatchXtsParams> batch_xts_kernel_for(Direction direction, int rounds, int tables, bool one_key);
Kernel<BatchXtsParams, FewKeys> batch_xts_few_kernel_for(Direction direction, int rounds, int tables);
Kernel<BatchXtsParams> batch_tweaks_kernel_for(int rounds, int tables, bool one_key);
/// Batches of CFB8 and CFB1 decryption.
Kernel<SegmentParams> batch_segments_kernel_for(Mode mode, int rounds, int tables, bool one_key);
/// Copies all messages to `ciphertext`, one after another.
Kernel<SegmentParams> batch_copy_kernel_for();
/// Batches of CBC, CFB128, CFB8 and CFB1 encryption, OFB, CMAC and CCM.
Kernel<SerialParams> serial_batch_kernel_for(Mode mode, int rounds, int tables);
Kernel<KeyParams> batch_keys_kernel_for(int rounds);

/// GCM batches, without the key stream. `lanes` is the number of lanes per message: 1, 4 or 32.
Kernel<GcmBatchParams> ghash_batch_kernel_for(int lanes);
Kernel<GcmBatchParams> ghash_pieces_kernel_for();
/// Many messages under one key or a few keys, and the kernel that computes the powers for several keys. `wide` means
/// that wide_mma is used. `aligned` means that all texts are aligned to 16 bytes.
Kernel<RunPowersParams> ghash_run_powers_kernel_for();
Kernel<GcmRowsParams> ghash_messages_kernel_for(bool wide, bool aligned);
/// Many messages under one key in one pass, with wide_mma: key stream, GHASH, and tags or their comparison.
Kernel<GcmPassParams> gcm_pass_kernel_for(int rounds, Direction direction);
/// Long messages under one key in one pass, with wide_mma: key stream and GHASH. The second kernel computes or compares
/// the tags.
Kernel<GcmWindowsParams> gcm_windows_kernel_for(int rounds, Direction direction, bool aligned);
Kernel<GcmWindowsParams> gcm_settle_windows_kernel_for();
/// The same under a few keys, after the kernel that computes the powers of H.
Kernel<RunFactorsParams> gcm_run_factors_kernel_for();
Kernel<GcmPassKeysParams, FewKeys> gcm_pass_keys_kernel_for(int rounds, Direction direction);
Kernel<GcmWindowsKeysParams, FewKeys> gcm_windows_keys_kernel_for(int rounds, Direction direction, bool aligned);
Kernel<GcmWindowsKeysParams> gcm_settle_windows_keys_kernel_for();
/// Wipes the outputs of messages whose `failed` byte is set, after a pass.
Kernel<WipeFailedParams> wipe_failed_kernel_for();
Kernel<GcmBatchParams> gcm_finish_kernel_for();
Kernel<GcmBatchParams> gcm_j0_kernel_for();
Kernel<GcmSettleParams> gcm_settle_kernel_for();
Kernel<StatusParams> statuses_kernel_for();
Kernel<SideParams> side_kernel_for();
/// GHASH of long messages under their own keys; the kernels run in this order. `lanes` is the number of lanes per
/// message: 4 or 32.
Kernel<GhashKeysParams> ghash_powers_kernel_for();
Kernel<GhashKeysParams> ghash_keys_kernel_for(bool wide, bool aligned);
Kernel<GhashKeysParams> ghash_keys_sum_kernel_for(int lanes);

}  // namespace warpaes::cuda
