// The instruction sets that this CPU and its operating system can run.
#pragma once

#include <string>

namespace warpaes::cpu {

/// The feature words of an x86-64 CPU (CPUID; Intel's manual, volume 2A) and the registers that its operating system
/// saves (XCR0). For a 64-bit Arm CPU, the feature word that Linux reports (AT_HWCAP; the kernel's arm64/elf_hwcaps).
struct CpuWords {
    unsigned leaf1_c = 0, leaf7_b = 0, leaf7_c = 0;
    unsigned xcr0 = 0;
    unsigned long hwcap = 0;
    unsigned most_vector_bits = 512;  ///< wider registers are not used (WARPAES_VECTOR_BITS)
};
/// Returns the words of this CPU; the words of the other architecture are zero.
const CpuWords& this_cpu();

/// The environment variable WARPAES_VECTOR_BITS, which limits the width of vector registers that kernels may use: "256"
/// or "512". It is read when the library first selects kernels, and the value then applies to the whole process.
inline constexpr const char* vector_bits_variable = "WARPAES_VECTOR_BITS";
/// Returns the variable's value: 512 if it is not set or empty, and 0 if it is neither "256" nor "512".
unsigned given_vector_bits();

/// Returns why the instruction set cannot be used here; empty if it can. AES-NI also requires PCLMULQDQ and SSSE3.
std::string why_not_aesni(const CpuWords& words = this_cpu());
/// VAES on 256-bit registers, which also requires VPCLMULQDQ and AVX2.
std::string why_not_vaes256(const CpuWords& words = this_cpu());
/// VAES on 512-bit registers, which also requires AVX-512 F, BW and VL.
std::string why_not_vaes512(const CpuWords& words = this_cpu());
/// AES and PMULL of 64-bit Arm.
std::string why_not_armv8(const CpuWords& words = this_cpu());

/// Whether a carry-less product takes several times as long as a round of AES, so that GCM is faster with fewer
/// products; this is true for AMD processors. Only kernels for AVX-512, which AMD has supported since Zen 4, query
/// this. In LLVM's model of Zen 3 (llvm-mca -mcpu=znver3), one product starts every two cycles, compared with two AES
/// rounds per cycle. Zen 4 uses the same units, and splits 512-bit operations into halves. In the model of Intel's
/// processors (-mcpu=icelake-server), one product and one AES round start per cycle.
bool multiplies_slowly();

}  // namespace warpaes::cpu
