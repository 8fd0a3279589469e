#include "cpu/simd_functions.hpp"

#include "backend/tag.hpp"
#include "cpu/batch.hpp"

namespace warpaes::cpu {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

template <void (*Kernels)(const SimdGcmSiv&)>
void run_gcm_siv_simd(const GcmSivRun& run) {
    Kernels({.rounds = run.key->rounds(),
             .keys = bytes_of(run.key->encrypt().words),
             .powers = run.digest == nullptr ? nullptr : bytes_of(run.key->hash_key().descending),
             .counter = run.counter.data(),
             .input = run.input,
             .output = run.output,
             .bytes = static_cast<std::size_t>(run.bytes),
             .digest = run.digest == nullptr ? nullptr : run.digest->data()});
}

template <const SimdShortGcmKernels& Kernels, Direction Way, std::size_t Rounds>
bool short_gcm_simd(const ShortMessage& m) {
    const ExpandedKey& key = *m.key;
    const SimdShortGcm with{.powers = bytes_of(key.hash_key().descending),
                            .first_round = m.length < first_round_bytes ? nullptr : first_round_if_worth(m)};
    if constexpr (Way == Direction::encrypt) {
        if (m.tag_length == block_bytes) {
            Kernels.encrypt[Rounds](m, with, m.tag);
        } else {
            Block tag;
            Kernels.encrypt[Rounds](m, with, tag.data());
            std::copy_n(tag.begin(), m.tag_length, m.tag);
        }
        return true;
    } else {
        Block tag;
        Kernels.decrypt[Rounds](m, with, tag.data());
        return is_tag(tag, {m.tag, static_cast<std::size_t>(m.tag_length)});
    }
}

template <const SimdShortGcmKernels& Gcm>
ShortFunction short_gcm_of(Direction direction, int rounds) noexcept {
    constexpr auto encrypt = Direction::encrypt, decrypt = Direction::decrypt;
    static constexpr ShortFunction functions[2][3]{
        {short_gcm_simd<Gcm, encrypt, 0>, short_gcm_simd<Gcm, encrypt, 1>, short_gcm_simd<Gcm, encrypt, 2>},
        {short_gcm_simd<Gcm, decrypt, 0>, short_gcm_simd<Gcm, decrypt, 1>, short_gcm_simd<Gcm, decrypt, 2>}};
    return functions[direction == decrypt][static_cast<std::size_t>(rounds - 10) / 2];
}

template <RunFunction Run, const SimdShortCtrKernels& Ctr, const SimdShortGcmKernels& Gcm>
ShortFunction short_simd(Mode mode, Direction direction, int rounds) noexcept {
    if (mode == Mode::gcm) return short_gcm_of<Gcm>(direction, rounds);
    if (mode == Mode::ctr) return Ctr.functions[static_cast<std::size_t>(rounds - 10) / 2];
    return short_blocks<Run>(mode, direction, rounds);
}

template <const SimdBatchKernels& Kernels, const SimdShortGcmKernels& Gcm>
void run_batch_simd(StretchLane& lane, std::span<const MessageGroup> groups) {
    run_batch(lane, Kernels, short_gcm_of<Gcm>, groups);
}

template <const SimdBatchKernels& Kernels, const SimdShortGcmKernels& Gcm>
void run_alike_simd(StretchLane& lane, const MessageGroup& form, std::span<const AlikeGroup> groups) {
    run_alike_groups(lane, Kernels, short_gcm_of<Gcm>, form, groups);
}

template <void (*Run)(const SimdRun&), void (*Gcm)(const SimdGcm&), void (*GcmSiv)(const SimdGcmSiv&),
          const SimdShortCtrKernels& ShortCtr, const SimdShortGcmKernels& ShortGcm, const SimdBatchKernels& Batch>
constexpr CpuFunctions simd_functions{run_simd<Run>,
                                      run_gcm_simd<Gcm>,
                                      short_simd<run_simd<Run>, ShortCtr, ShortGcm>,
                                      run_batch_simd<Batch, ShortGcm>,
                                      run_gcm_siv_simd<GcmSiv>,
                                      run_alike_simd<Batch, ShortGcm>};

}  // namespace

const std::uint8_t* first_round_if_worth(const ShortMessage& m) {
    const FirstRound* const table = m.key->first_round_if_worth(m.length);
    return table == nullptr ? nullptr : bytes_of(table->columns);
}
#endif

#if WARPAES_HAS_AESNI
const CpuFunctions aesni_functions =
    simd_functions<run_aesni, run_gcm_aesni, run_gcm_siv_aesni, short_ctr_aesni, short_gcm_aesni, batch_kernels_aesni>;
#else
const CpuFunctions aesni_functions;
#endif

#if WARPAES_HAS_VAES256
const CpuFunctions vaes256_functions = simd_functions<run_vaes256, run_gcm_vaes256, run_gcm_siv_vaes256,
                                                      short_ctr_vaes256, short_gcm_vaes256, batch_kernels_vaes256>;
#else
const CpuFunctions vaes256_functions;
#endif

#if WARPAES_HAS_VAES512_GCM
const CpuFunctions vaes512_functions = simd_functions<run_vaes512, run_gcm_vaes512, run_gcm_siv_vaes512,
                                                      short_ctr_vaes512, short_gcm_vaes512, batch_kernels_vaes512>;
#else
const CpuFunctions vaes512_functions;
#endif

#if WARPAES_HAS_VAES512_FOLDING
const CpuFunctions vaes512_folding_functions =
    simd_functions<run_vaes512, run_gcm_vaes512_folding, run_gcm_siv_vaes512_folding, short_ctr_vaes512,
                   short_gcm_vaes512_folding, batch_kernels_vaes512>;
#else
const CpuFunctions vaes512_folding_functions;
#endif

#if defined(__aarch64__)
const CpuFunctions armv8_functions =
    simd_functions<run_armv8, run_gcm_armv8, run_gcm_siv_armv8, short_ctr_armv8, short_gcm_armv8, batch_kernels_armv8>;
#else
const CpuFunctions armv8_functions;
#endif

}  // namespace warpaes::cpu
