// Replaces simd_functions.cpp in `make demo`, which processes only files and has no kernels for batches and short
// messages.
#include "cpu/simd_functions.hpp"

namespace warpaes::cpu {

namespace {

template <void (*Run)(const SimdRun&), void (*Gcm)(const SimdGcm&)>
constexpr CpuFunctions file_functions{run_simd<Run>, run_gcm_simd<Gcm>, short_blocks<run_simd<Run>>};

}  // namespace

#if WARPAES_HAS_AESNI
const CpuFunctions aesni_functions = file_functions<run_aesni, run_gcm_aesni>;
#else
const CpuFunctions aesni_functions;
#endif

#if WARPAES_HAS_VAES256
const CpuFunctions vaes256_functions = file_functions<run_vaes256, run_gcm_vaes256>;
#else
const CpuFunctions vaes256_functions;
#endif

#if WARPAES_HAS_VAES512_GCM
const CpuFunctions vaes512_functions = file_functions<run_vaes512, run_gcm_vaes512>;
#else
const CpuFunctions vaes512_functions;
#endif

#if WARPAES_HAS_VAES512_FOLDING
const CpuFunctions vaes512_folding_functions = file_functions<run_vaes512, run_gcm_vaes512_folding>;
#else
const CpuFunctions vaes512_folding_functions;
#endif

#if defined(__aarch64__)
const CpuFunctions armv8_functions = file_functions<run_armv8, run_gcm_armv8>;
#else
const CpuFunctions armv8_functions;
#endif

}  // namespace warpaes::cpu
