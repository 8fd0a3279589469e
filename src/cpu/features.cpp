#include "cpu/features.hpp"

#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>

namespace warpaes::cpu {

namespace {

// An instruction set is usable if the CPU has it (CPUID) and the operating system saves its registers when it switches
// between processes (XCR0).
struct Features {
    bool ssse3 = false, aes = false, pclmulqdq = false;
    bool avx2 = false, vaes = false, vpclmulqdq = false, avx512 = false;
    bool ymm_state = false, zmm_state = false;
};

constexpr bool bit(unsigned word, int n) {
    return ((word >> n) & 1u) != 0;
}

std::uint32_t xcr0() {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

Features detect() {
    Features f;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
    f.pclmulqdq = bit(c, 1);
    f.ssse3 = bit(c, 9);
    f.aes = bit(c, 25);
    const bool osxsave = bit(c, 27);
    if (osxsave) {
        constexpr std::uint32_t ymm = 0x06, zmm = 0xe6;  // SSE, AVX; opmask, ZMM_Hi256, Hi16_ZMM
        const std::uint32_t enabled = xcr0();
        f.ymm_state = (enabled & ymm) == ymm;
        f.zmm_state = (enabled & zmm) == zmm;
    }
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    f.avx2 = bit(b, 5);
    f.avx512 = bit(b, 16) && bit(b, 30) && bit(b, 31);
    f.vaes = bit(c, 9);
    f.vpclmulqdq = bit(c, 10);
    return f;
}

const Features& features() {
    static const Features detected = detect();
    return detected;
}

}  // namespace

std::string why_not_aesni() {
    if (!features().aes || !features().ssse3) return "this CPU has no AES instructions (AES-NI)";
    if (!features().pclmulqdq) return "this CPU has no carry-less multiplication (PCLMULQDQ)";
    return "";
}

std::string why_not_vaes256() {
    const Features& f = features();
    if (!f.vaes) return "this CPU has no vector AES instructions (VAES)";
    if (!f.vpclmulqdq) return "this CPU has no vector carry-less multiplication (VPCLMULQDQ)";
    if (!f.avx2) return "this CPU has no AVX2";
    if (!f.ymm_state) return "the operating system does not enable 256-bit registers (AVX)";
    return why_not_aesni();
}

std::string why_not_vaes512() {
    const Features& f = features();
    if (!f.avx512) return "this CPU has no AVX-512 (F, BW and VL)";
    if (!f.zmm_state) return "the operating system does not enable 512-bit registers (AVX-512)";
    return why_not_vaes256();
}

bool multiplies_slowly() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

}  // namespace warpaes::cpu

#else

namespace warpaes::cpu {

std::string why_not_aesni() {
    return "AES-NI is an x86-64 instruction set";
}
std::string why_not_vaes256() {
    return "VAES is an x86-64 instruction set";
}
std::string why_not_vaes512() {
    return "VAES is an x86-64 instruction set";
}
bool multiplies_slowly() {
    return false;
}

}  // namespace warpaes::cpu

#endif
