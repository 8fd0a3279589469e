// What this CPU and its operating system can run.
#pragma once

#include <string>

namespace warpaes::cpu {

/// What an x86-64 CPU says of itself (CPUID; Intel's manual, volume 2A), and which registers its operating system
/// saves.
struct CpuWords {
    unsigned leaf1_c = 0, leaf7_b = 0, leaf7_c = 0;
    unsigned xcr0 = 0;
};
/// Of this CPU; nothing on any other kind.
const CpuWords& this_cpu();

/// A sentence that says why the instruction set cannot be used here; empty if it can. AES-NI: PCLMULQDQ and SSSE3
/// beside it.
std::string why_not_aesni(const CpuWords& words = this_cpu());
/// VAES on 256-bit registers: VPCLMULQDQ and AVX2 beside it.
std::string why_not_vaes256(const CpuWords& words = this_cpu());
/// VAES on 512-bit registers: AVX-512 F, BW and VL beside it.
std::string why_not_vaes512(const CpuWords& words = this_cpu());

/// Whether a carry-less product takes twice as long as another operation (AMD, up to Zen 5).
bool multiplies_slowly();

}  // namespace warpaes::cpu
