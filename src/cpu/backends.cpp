// The definitions of the CPU backends.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/features.hpp"
#include "cpu/simd_functions.hpp"

namespace warpaes {

namespace cpu {

namespace {

/// Returns why a backend cannot run: because of this machine (`here`), or because this build has no kernels for it.
std::string why_not(const CpuFunctions& functions, const std::string& here) {
    return here.empty() && functions.run == nullptr ? "this build has no kernels for it" : here;
}

}  // namespace

Backend& vaes_backend(VaesKernels kernels) {
    static CpuBackend bits256("vaes", "VAES, 256-bit (AVX2)", why_not(vaes256_functions, why_not_vaes256()),
                              vaes256_functions);
    static CpuBackend bits512("vaes", "VAES, 512-bit (AVX-512)", why_not(vaes512_functions, why_not_vaes512()),
                              vaes512_functions);
    static CpuBackend folding("vaes", "VAES, 512-bit (AVX-512)", why_not(vaes512_folding_functions, why_not_vaes512()),
                              vaes512_folding_functions);
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
                                   {cpu::run_libcrypto, cpu::run_gcm_libcrypto, cpu::short_blocks<cpu::run_libcrypto>});
    return backend;
}

Backend& aesni_backend() {
    static cpu::CpuBackend backend("aesni", "AES-NI, 8 blocks in flight",
                                   cpu::why_not(cpu::aesni_functions, cpu::why_not_aesni()), cpu::aesni_functions);
    return backend;
}

Backend& armv8_backend() {
    static cpu::CpuBackend backend("armv8", "Armv8 AES and PMULL, 8 blocks in flight", cpu::why_not_armv8(),
                                   cpu::armv8_functions);
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
