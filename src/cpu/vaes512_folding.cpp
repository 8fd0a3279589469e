// GCM on 512-bit registers for CPUs on which a carry-less product takes two cycles. Compiled like vaes512.cpp.
#include "cpu/gcm_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_gcm_vaes512_folding(const SimdGcm& run) {
    run_gcm<FoldingZmm>(run);
}

}  // namespace warpaes::cpu
