// What this CPU and its operating system can run.
#pragma once

#include <string>

namespace warpaes::cpu {

/// A sentence that says why the instruction set cannot be used here; empty if it can. AES-NI: PCLMULQDQ and SSSE3
/// beside it.
std::string why_not_aesni();
/// VAES on 256-bit registers: VPCLMULQDQ and AVX2 beside it.
std::string why_not_vaes256();
/// VAES on 512-bit registers: AVX-512 F, BW and VL beside it.
std::string why_not_vaes512();

/// Whether a carry-less product takes twice as long as another operation (AMD, up to Zen 5).
bool multiplies_slowly();

}  // namespace warpaes::cpu
