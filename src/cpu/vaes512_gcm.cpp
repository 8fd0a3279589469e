// GCM on 512-bit registers. Compiled like vaes512.cpp.
#include "cpu/gcm_modes.hpp"
#include "cpu/vaes512_vector.hpp"

namespace warpaes::cpu {

void run_gcm_vaes512(const SimdGcm& run) {
    run_gcm<Zmm>(run);
}

}  // namespace warpaes::cpu
