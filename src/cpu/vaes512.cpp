// VAES, four blocks a register. Compiled for AVX-512 (F, BW, VL), AES, VAES and VPCLMULQDQ.
#include "cpu/gcm_modes.hpp"
#include "cpu/short_kernels.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_vaes512(const SimdRun& run) {
    run_vectors<Zmm>(run);
}

void run_gcm_vaes512(const SimdGcm& run) {
    run_gcm<Zmm>(run);
}

void short_ctr_vaes512(const ShortMessage& message, int rounds, const std::uint8_t* keys) {
    short_ctr<Zmm>(message, rounds, keys);
}

void short_gcm_vaes512(const ShortMessage& message, int rounds, const SimdShortGcm& with, std::uint8_t* tag) {
    short_gcm<Zmm>(message, rounds, with, tag);
}

}  // namespace warpaes::cpu
