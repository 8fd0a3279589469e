// The definitions of the CPU backends.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "backend/tag.hpp"
#include "base/error.hpp"
#include "cpu/batch.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/features.hpp"
#include "cpu/libcrypto.hpp"
#include "cpu/simd.hpp"
#include "cpu/vaes_backend.hpp"

namespace warpaes {

namespace cpu {

namespace {

Block chain_of(const ShortMessage& m) {
    Block chain{};
    if (uses_iv(m.mode)) std::copy_n(m.iv, chain.size(), chain.begin());
    return chain;
}

/// Processes a short message, in any mode but GCM, as a run.
template <void (*Kernels)(const Run&)>
bool short_run(const ShortMessage& m) {
    Kernels({m.mode, m.direction, m.key, m.input, m.output, m.length, chain_of(m), m.tweak_key, m.data_units, nullptr,
             false, false, m.unused_bits});
    return true;
}

ShortFunction short_libcrypto(Mode mode, Direction /*direction*/, int /*rounds*/) noexcept {
    return uses_tag(mode) ? nullptr : short_run<run_libcrypto>;
}

#if defined(__x86_64__) || defined(__aarch64__)

[[gnu::always_inline]] inline const std::uint8_t* bytes_of(const auto& words) {
    return reinterpret_cast<const std::uint8_t*>(words.data());
}

/// Runs parallel directions with `Kernels`, and serial ones, where each block depends on the one before, with
/// libcrypto.
template <void (*Kernels)(const SimdRun&)>
void run_simd(const Run& run) {
    if (!is_parallel(run.mode, run.direction)) return run_libcrypto(run);
    Kernels({.mode = run.mode,
             .direction = run.direction,
             .rounds = run.key->rounds(),
             .keys = bytes_of(run.key->round_keys(run.mode, run.direction).words),
             .input = run.input,
             .output = run.output,
             .length = kernel_length(run.mode, run.length, run.unused_bits),
             .chain = run.chain.data(),
             .tweak_keys = run.tweak_key == nullptr ? nullptr : bytes_of(run.tweak_key->encrypt().words),
             .data_units = run.data_units,
             .beyond_caches = run.beyond_caches});
}

static_assert(offsetof(HashKey, folded) - offsetof(HashKey, descending) == folded_powers);

template <void (*Kernels)(const SimdGcm&)>
void run_gcm_simd(const GcmRun& run) {
    const ExpandedKey& key = *run.key;
    Kernels({.encrypt = run.direction == Direction::encrypt,
             .rounds = key.rounds(),
             .keys = bytes_of(key.encrypt().words),
             .powers = bytes_of(key.hash_key().descending),
             .first_round = run.hashes_only() || !run.public_counters ? nullptr : bytes_of(key.first_round().columns),
             .input = run.input,
             .output = run.output,
             .count = run.count,
             .segment_bytes = run.segment_bytes,
             .last_bytes = run.last_bytes,
             .input_stride = run.input_stride,
             .output_stride = run.output_stride,
             .j0 = reinterpret_cast<const std::uint8_t*>(run.j0),
             .first_block = static_cast<std::uint32_t>(run.first_block),
             .beyond_caches = run.beyond_caches,
             .tags = run.result == GcmRun::Result::tag,
             .aad_digest = run.aad_digest.data(),
             .aad_bytes = run.aad_bytes,
             .results = reinterpret_cast<std::uint8_t*>(run.results)});
}

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
    if (mode == Mode::gcm && !WARPAES_DEMO) return short_gcm_of<Gcm>(direction, rounds);
    if (mode == Mode::ctr && !WARPAES_DEMO) return Ctr.functions[static_cast<std::size_t>(rounds - 10) / 2];
    return uses_tag(mode) ? nullptr : short_run<Run>;
}

template <const SimdBatchKernels& Kernels, const SimdShortGcmKernels& Gcm>
void run_batch_simd(StretchLane& lane, std::span<const MessageGroup> groups) {
    run_batch(lane, Kernels, short_gcm_of<Gcm>, groups);
}

/// Null in the build of `make demo`, which processes files only and has no kernels for batches.
template <const SimdBatchKernels& Kernels, const SimdShortGcmKernels& Gcm>
constexpr BatchFunction batch_function() {
    if constexpr (WARPAES_DEMO) {
        return nullptr;
    } else {
        return run_batch_simd<Kernels, Gcm>;
    }
}

/// The build of `make demo` has no kernels for single messages either.
template <void (*Run)(const SimdRun&), void (*Gcm)(const SimdGcm&), void (*GcmSiv)(const SimdGcmSiv&),
          const SimdShortCtrKernels& ShortCtr, const SimdShortGcmKernels& ShortGcm, const SimdBatchKernels& Batch>
constexpr CpuFunctions simd_functions{run_simd<Run>, run_gcm_simd<Gcm>, short_simd<run_simd<Run>, ShortCtr, ShortGcm>,
                                      batch_function<Batch, ShortGcm>(),
                                      WARPAES_DEMO ? nullptr : run_gcm_siv_simd<GcmSiv>};

#endif

#if WARPAES_HAS_AESNI
constexpr CpuFunctions aesni =
    simd_functions<run_aesni, run_gcm_aesni, run_gcm_siv_aesni, short_ctr_aesni, short_gcm_aesni, batch_kernels_aesni>;
#else
constexpr CpuFunctions aesni;
#endif

#if WARPAES_HAS_VAES256
constexpr CpuFunctions vaes256 = simd_functions<run_vaes256, run_gcm_vaes256, run_gcm_siv_vaes256, short_ctr_vaes256,
                                                short_gcm_vaes256, batch_kernels_vaes256>;
#else
constexpr CpuFunctions vaes256;
#endif

#if WARPAES_HAS_VAES512_GCM
constexpr CpuFunctions vaes512 = simd_functions<run_vaes512, run_gcm_vaes512, run_gcm_siv_vaes512, short_ctr_vaes512,
                                                short_gcm_vaes512, batch_kernels_vaes512>;
#else
constexpr CpuFunctions vaes512;
#endif

#if WARPAES_HAS_VAES512_FOLDING
constexpr CpuFunctions vaes512_folding =
    simd_functions<run_vaes512, run_gcm_vaes512_folding, run_gcm_siv_vaes512_folding, short_ctr_vaes512,
                   short_gcm_vaes512_folding, batch_kernels_vaes512>;
#else
constexpr CpuFunctions vaes512_folding;
#endif

#if defined(__aarch64__)
constexpr CpuFunctions armv8 =
    simd_functions<run_armv8, run_gcm_armv8, run_gcm_siv_armv8, short_ctr_armv8, short_gcm_armv8, batch_kernels_armv8>;
#else
constexpr CpuFunctions armv8;
#endif

/// The reason why a backend cannot run: on this machine, or because this build has no kernels for it.
std::string why_not(const CpuFunctions& functions, const std::string& here) {
    return here.empty() && functions.run == nullptr ? "this build has no kernels for it (WARPAES_DEMO)" : here;
}

}  // namespace

#if defined(__x86_64__) || defined(__aarch64__)
const std::uint8_t* first_round_if_worth(const ShortMessage& m) {
    const FirstRound* const table = m.key->first_round_if_worth(m.length);
    return table == nullptr ? nullptr : bytes_of(table->columns);
}
#endif

Backend& vaes_backend(VaesKernels kernels) {
    static CpuBackend bits256("vaes", "VAES, 256-bit (AVX2)", why_not(vaes256, why_not_vaes256()), vaes256);
    static CpuBackend bits512("vaes", "VAES, 512-bit (AVX-512)", why_not(vaes512, why_not_vaes512()), vaes512);
    static CpuBackend folding("vaes", "VAES, 512-bit (AVX-512)", why_not(vaes512_folding, why_not_vaes512()),
                              vaes512_folding);
    switch (kernels) {
    case VaesKernels::bits256:
        return bits256;
    case VaesKernels::bits512:
        return bits512;
    case VaesKernels::bits512_folding:
        break;
    }
    return folding;
}

}  // namespace cpu

Backend& libcrypto_backend() {
    static cpu::CpuBackend backend("libcrypto", cpu::libcrypto_version(), "",
                                   {cpu::run_libcrypto, cpu::run_gcm_libcrypto, cpu::short_libcrypto});
    return backend;
}

Backend& aesni_backend() {
    static cpu::CpuBackend backend("aesni", "AES-NI, 8 blocks in flight",
                                   cpu::why_not(cpu::aesni, cpu::why_not_aesni()), cpu::aesni);
    return backend;
}

Backend& armv8_backend() {
    static cpu::CpuBackend backend("armv8", "Armv8 AES and PMULL, 8 blocks in flight", cpu::why_not_armv8(),
                                   cpu::armv8);
    return backend;
}

void check_vector_bits() {
    if (cpu::given_vector_bits() != 0) return;
    throw Error(WARPAES_ERROR_BACKEND, std::string(cpu::vector_bits_variable) + ": must be 256 or 512, got '" +
                                           std::getenv(cpu::vector_bits_variable) + "'");
}

Backend& vaes_backend() {
    using cpu::VaesKernels;
    Backend& widest = cpu::vaes_backend(cpu::multiplies_slowly() ? VaesKernels::bits512_folding : VaesKernels::bits512);
    return widest.usable() ? widest : cpu::vaes_backend(VaesKernels::bits256);
}

}  // namespace warpaes
