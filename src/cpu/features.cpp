#include "cpu/features.hpp"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>

namespace warpaes::cpu {

namespace {

// An instruction set is usable if the CPU supports it (CPUID) and the operating system saves its registers on a context
// switch (XCR0).
struct Features {
    bool ssse3 = false, aes = false, pclmulqdq = false;
    bool avx2 = false, vaes = false, vpclmulqdq = false, avx512 = false;
    bool ymm_state = false, zmm_state = false;
};

constexpr bool bit(unsigned word, int n) {
    return ((word >> n) & 1u) != 0;
}

/// OSXSAVE: the operating system uses XSAVE, so XCR0 can be read.
bool has_xcr0(const CpuWords& words) {
    return bit(words.leaf1_c, 27);
}

std::uint32_t xcr0() {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

CpuWords ask() {
    CpuWords words;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) words.leaf1_c = c;
    if (has_xcr0(words)) words.xcr0 = xcr0();
    if (given_vector_bits() == 256) words.most_vector_bits = 256;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        words.leaf7_b = b;
        words.leaf7_c = c;
    }
    return words;
}

Features features(const CpuWords& words) {
    constexpr std::uint32_t ymm = 0x06, zmm = 0xe6;  // SSE, AVX; opmask, ZMM_Hi256, Hi16_ZMM
    Features f;
    f.pclmulqdq = bit(words.leaf1_c, 1);
    f.ssse3 = bit(words.leaf1_c, 9);
    f.aes = bit(words.leaf1_c, 25);
    f.ymm_state = has_xcr0(words) && (words.xcr0 & ymm) == ymm;
    f.zmm_state = has_xcr0(words) && (words.xcr0 & zmm) == zmm;
    f.avx2 = bit(words.leaf7_b, 5);
    f.avx512 = bit(words.leaf7_b, 16) && bit(words.leaf7_b, 30) && bit(words.leaf7_b, 31);
    f.vaes = bit(words.leaf7_c, 9);
    f.vpclmulqdq = bit(words.leaf7_c, 10);
    return f;
}

}  // namespace

const CpuWords& this_cpu() {
    static const CpuWords words = ask();
    return words;
}

std::string why_not_aesni(const CpuWords& words) {
    const Features f = features(words);
    if (!f.aes || !f.ssse3) return "this CPU has no AES instructions (AES-NI)";
    if (!f.pclmulqdq) return "this CPU has no carry-less multiplication (PCLMULQDQ)";
    return "";
}

std::string why_not_vaes256(const CpuWords& words) {
    if (!WARPAES_VAES) return "this build has no kernels for vector AES instructions (WARPAES_VAES)";
    const Features f = features(words);
    if (!f.vaes) return "this CPU has no vector AES instructions (VAES)";
    if (!f.vpclmulqdq) return "this CPU has no vector carry-less multiplication (VPCLMULQDQ)";
    if (!f.avx2) return "this CPU has no AVX2";
    if (!f.ymm_state) return "the operating system does not enable 256-bit registers (AVX)";
    return why_not_aesni(words);
}

std::string why_not_vaes512(const CpuWords& words) {
    const Features f = features(words);
    if (!f.avx512) return "this CPU has no AVX-512 (F, BW and VL)";
    if (!f.zmm_state) return "the operating system does not enable 512-bit registers (AVX-512)";
    if (words.most_vector_bits < 512) return std::string(vector_bits_variable) + " is 256";
    return why_not_vaes256(words);
}

bool multiplies_slowly() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

}  // namespace warpaes::cpu

#else

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace warpaes::cpu {

const CpuWords& this_cpu() {
    static const CpuWords words = [] {
        CpuWords w;
#if defined(__aarch64__)
        w.hwcap = getauxval(AT_HWCAP);
#endif
        return w;
    }();
    return words;
}

std::string why_not_aesni(const CpuWords&) {
    return "AES-NI is an x86-64 instruction set";
}
std::string why_not_vaes256(const CpuWords&) {
    return "VAES is an x86-64 instruction set";
}
std::string why_not_vaes512(const CpuWords&) {
    return "VAES is an x86-64 instruction set";
}
bool multiplies_slowly() {
    return false;
}

}  // namespace warpaes::cpu

#endif

namespace warpaes::cpu {

unsigned given_vector_bits() {
    const char* const value = std::getenv(vector_bits_variable);
    const std::string_view bits = value != nullptr ? value : "";
    return bits.empty() || bits == "512" ? 512 : bits == "256" ? 256 : 0;
}

std::string why_not_armv8([[maybe_unused]] const CpuWords& words) {
#if defined(__aarch64__)
    constexpr unsigned long aes = 1UL << 3, pmull = 1UL << 4;  // HWCAP_AES, HWCAP_PMULL
    if ((words.hwcap & aes) == 0) return "this CPU has no AES instructions (Armv8's AES)";
    if ((words.hwcap & pmull) == 0) return "this CPU has no carry-less multiplication (Armv8's PMULL)";
    return "";
#else
    return "Armv8's AES is an instruction set of 64-bit Arm";
#endif
}

}  // namespace warpaes::cpu
