// GCM on 512-bit registers. Compiled like vaes512.cpp.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/siv_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_gcm_vaes512(const SimdGcm& run) {
    run_gcm<Zmm>(run);
}

void run_gcm_siv_vaes512(const SimdGcmSiv& run) {
    gcm_siv<Zmm>(run);
}

const SimdShortGcmKernels short_gcm_vaes512 = short_gcm_kernels<Zmm>;

}  // namespace warpaes::cpu
