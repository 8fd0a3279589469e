// What this CPU and its operating system can run.
#pragma once

#include <string>

namespace warpaes::cpu {

/// What an x86-64 CPU says of itself (CPUID; Intel's manual, volume 2A), and which registers its operating system
/// saves; what Linux says of a 64-bit Arm CPU (AT_HWCAP; the kernel's arm64/elf_hwcaps).
struct CpuWords {
    unsigned leaf1_c = 0, leaf7_b = 0, leaf7_c = 0;
    unsigned xcr0 = 0;
    unsigned long hwcap = 0;
};
/// Of this CPU: the words of the other kind are zero.
const CpuWords& this_cpu();

/// A sentence that says why the instruction set cannot be used here; empty if it can. AES-NI: PCLMULQDQ and SSSE3
/// beside it.
std::string why_not_aesni(const CpuWords& words = this_cpu());
/// VAES on 256-bit registers: VPCLMULQDQ and AVX2 beside it.
std::string why_not_vaes256(const CpuWords& words = this_cpu());
/// VAES on 512-bit registers: AVX-512 F, BW and VL beside it.
std::string why_not_vaes512(const CpuWords& words = this_cpu());
/// AES and PMULL of 64-bit Arm.
std::string why_not_armv8(const CpuWords& words = this_cpu());

/// Whether a carry-less product takes twice as long as another operation (AMD, up to Zen 5).
bool multiplies_slowly();

}  // namespace warpaes::cpu
