// Passes work from a CPU backend to the kernels of an instruction set, and determines which sets of kernels this build
// contains.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/cpu_backend.hpp"
#include "cpu/libcrypto.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// The functions of a set of kernels, all null if this build does not contain it. They are defined in
/// simd_functions.cpp or, for `make demo`, in file_functions.cpp, which defines only the functions for files.
extern const CpuFunctions aesni_functions, vaes256_functions, vaes512_functions, vaes512_folding_functions,
    armv8_functions;

inline Block chain_of(const ShortMessage& m) {
    Block chain{};
    if (uses_iv(m.mode)) std::copy_n(m.iv, chain.size(), chain.begin());
    return chain;
}

/// Processes a short message in any mode except GCM as a run.
template <void (*Kernels)(const Run&)>
bool short_run(const ShortMessage& m) {
    Kernels({m.mode, m.direction, m.key, m.input, m.output, m.length, chain_of(m), m.tweak_key, m.data_units, nullptr,
             false, false, m.unused_bits});
    return true;
}

[[gnu::always_inline]] inline const std::uint8_t* bytes_of(const auto& words) {
    return reinterpret_cast<const std::uint8_t*>(words.data());
}

/// Returns the function for short messages in any mode without a tag.
template <RunFunction Run>
ShortFunction short_blocks(Mode mode, Direction /*direction*/, int /*rounds*/) noexcept {
    return uses_tag(mode) ? nullptr : short_run<Run>;
}

/// Runs parallel directions with `Kernels`, and serial directions, in which each block depends on the previous block,
/// with libcrypto.
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

}  // namespace warpaes::cpu
