// AES-NI: one block a register. Compiled for SSSE3, AES and PCLMULQDQ.
#include "cpu/aesni_vector.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"

namespace warpaes::cpu {

void run_aesni(const SimdRun& run) {
    run_vectors<Xmm>(run);
}

void run_gcm_aesni(const SimdGcm& run) {
    run_gcm<Xmm>(run);
}

void short_ctr_aesni(const ShortMessage& message, int rounds, const std::uint8_t* keys) {
    short_ctr<Xmm>(message, rounds, keys);
}

void short_gcm_aesni(const ShortMessage& message, int rounds, const SimdShortGcm& with, std::uint8_t* tag) {
    short_gcm<Xmm>(message, rounds, with, tag);
}

}  // namespace warpaes::cpu
