// AES and GCM with the AES and PMULL instructions of 64-bit Arm. Compiled for both extensions.
#include "cpu/armv8_vector.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/simd_modes.hpp"

namespace warpaes::cpu {

void run_armv8(const SimdRun& run) {
    run_vectors<Neon>(run);
}

void run_gcm_armv8(const SimdGcm& run) {
    run_gcm<FoldingNeon>(run);
}

}  // namespace warpaes::cpu
