// VAES, two blocks a register. Compiled for AVX2, AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/vaes256_vector.hpp"

namespace warpaes::cpu {

void run_vaes256(const SimdRun& run) {
    run_vectors<Ymm>(run);
}

void run_gcm_vaes256(const SimdGcm& run) {
    run_gcm<Ymm>(run);
}

void short_ctr_vaes256(const ShortMessage& message, int rounds, const std::uint8_t* keys) {
    short_ctr<Ymm>(message, rounds, keys);
}

void short_gcm_vaes256(const ShortMessage& message, int rounds, const SimdShortGcm& with, std::uint8_t* tag) {
    short_gcm<Ymm>(message, rounds, with, tag);
}

}  // namespace warpaes::cpu
