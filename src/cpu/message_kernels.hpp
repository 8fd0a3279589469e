// The kernels for messages in memory. They process many messages of a parallel mode in one call: the cost of a call is
// paid only once, and the processor begins a message while the previous message is still in the pipeline.
#pragma once

#include "cpu/counter_cache.hpp"
#include "cpu/gcm_message_kernels.hpp"
#include "cpu/key_kernels.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/stream_kernels.hpp"

namespace warpaes::cpu {

/// The number of vectors that CBC decryption processes at a time. With 16 instead of eight, messages of 4 KiB and more
/// take 3 % less time (Zen 5).
template <class V>
inline constexpr std::size_t cbc_vectors = V::has_masks ? 2 * V::unroll : V::unroll;

/// CTR for a message of any length. Two groups of eight vectors hide more latency than 12 vectors and the rest:
/// messages of 1 KiB take 4 % less time (Zen 5).
template <class V, int Rounds, class Counter>
WARPAES_INLINE void ctr_text(const std::uint8_t* keys, Counter& counter, const std::uint8_t* input,
                             std::uint8_t* output, std::size_t length) {
    constexpr std::size_t n = V::unroll, step = n * V::bytes;
    if (!V::has_masks || (length != step && length != 2 * step)) {
        return ctr_walk<V, Rounds>(keys, counter, input, output, length);
    }
    CtrMode<V, Rounds, Counter> mode{keys, counter};
    for (std::size_t at = 0; at < length; at += step) mode.template step<n>(input + at, output + at, Whole{});
}

template <class V, int Rounds>
WARPAES_INLINE void ctr_message(const SimdMessages& run, const std::uint8_t* keys, const std::uint8_t* iv,
                                const std::uint8_t* input, std::uint8_t* output) {
    if (run.beyond_caches && run.length >= least_far_ctr) {
        return far_plain_ctr<V, Rounds>(keys, iv, input, output, run.length);
    }
    const Reg128 first = swap_block(load128(iv));
    if (run.first_round != nullptr) {
        GcmCounter<V> counter(keys, run.first_round, first);
        return ctr_text<V, Rounds>(keys, counter, input, output, run.length);
    }
    PlainCounter<V> counter(keys, first);
    ctr_text<V, Rounds>(keys, counter, input, output, run.length);
}

/// `One` is the kernel for a single message. It processes all messages except short CTR messages and CBC messages.
template <class V, int Rounds, void (*One)(const SimdRun&)>
void messages_of_rounds(const SimdMessages& run) {
    note_stack_depth();
    const std::size_t least_cached =
        run.first_round != nullptr ? cached_counter_bytes_with_table : cached_counter_bytes;
    const bool short_ctr = run.mode == Mode::ctr && run.length < least_cached;
    for (std::size_t i = 0; i < run.count; ++i) {
        const std::uint8_t* const keys = run.keys + i * run.key_stride;
        const std::uint8_t* const input = run.input + i * run.input_stride;
        const std::uint8_t* const iv = run.iv + i * run.iv_stride;
        std::uint8_t* const output = run.output + i * run.output_stride;
        if (short_ctr && stays_below_carry(iv, run.length)) {
            ctr_message<V, Rounds>(run, keys, iv, input, output);
        } else if (run.mode == Mode::cbc) {
            CbcDecrypt<V, Rounds> mode{keys, V::splat(load128(iv))};
            walk<V, cbc_vectors<V>>(mode, input, output, run.length);
        } else {
            One({.mode = run.mode,
                 .direction = run.direction,
                 .rounds = Rounds,
                 .keys = keys,
                 .input = input,
                 .output = output,
                 .length = run.length,
                 .chain = iv,
                 .beyond_caches = run.beyond_caches});
        }
    }
    if (run.beyond_caches) end_streams();
}

template <class V, void (*One)(const SimdRun&)>
void run_messages(const SimdMessages& run) {
    with_rounds(run.rounds, [&]<int Rounds>() { messages_of_rounds<V, Rounds, One>(run); });
}

template <class V, void (*One)(const SimdRun&)>
constexpr SimdBatchKernels batch_kernels{.lanes = V::bytes / 16,
                                         .keyed_vectors = keyed_vectors<V>,
                                         .run = One,
                                         .run_messages = run_messages<V, One>,
                                         .step_streams = step_streams<V>,
                                         .expand_keys = expand_keys<V>,
                                         .invert_keys = invert_keys<V>,
                                         .gcm_step_blocks = gcm_step_blocks<V>,
                                         .make_powers = make_powers<V>,
                                         .run_gcm_messages = run_gcm_messages<V>};

}  // namespace warpaes::cpu
