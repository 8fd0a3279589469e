// The CPU backends themselves.
#include "backend/backend.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/features.hpp"
#include "cpu/libcrypto.hpp"
#include "cpu/simd.hpp"
#include "cpu/vaes_backend.hpp"

namespace warpaes {

namespace cpu {

namespace {

#if defined(__x86_64__)

/// Parallel directions on `Kernels`, the serial ones, where one block waits for the other, in libcrypto.
template <void (*Kernels)(const SimdRun&)>
void run_simd(const Run& run) {
    if (!is_parallel(run.mode, run.direction)) return run_libcrypto(run);
    const RoundKeys& keys = uses_inverse_cipher(run.mode, run.direction) ? run.key->decrypt() : run.key->encrypt();
    Kernels({.mode = run.mode,
             .direction = run.direction,
             .rounds = run.key->rounds(),
             .keys = reinterpret_cast<const std::uint8_t*>(keys.words.data()),
             .input = run.input,
             .output = run.output,
             .length = run.length,
             .chain = run.chain.data(),
             .tweak_keys = run.tweak_key == nullptr
                               ? nullptr
                               : reinterpret_cast<const std::uint8_t*>(run.tweak_key->encrypt().words.data()),
             .data_unit = static_cast<std::size_t>(run.data_unit)});
}

constexpr RunFunction aesni_run = run_simd<run_aesni>;
constexpr RunFunction vaes256_run = run_simd<run_vaes256>;
constexpr RunFunction vaes512_run = run_simd<run_vaes512>;

#else

constexpr RunFunction aesni_run = nullptr;
constexpr RunFunction vaes256_run = nullptr;
constexpr RunFunction vaes512_run = nullptr;

#endif

}  // namespace

Backend& vaes_backend(VaesWidth width) {
    static CpuBackend bits256("vaes", "VAES, 256-bit (AVX2)", why_not_vaes256(), vaes256_run, run_gcm_libcrypto);
    static CpuBackend bits512("vaes", "VAES, 512-bit (AVX-512)", why_not_vaes512(), vaes512_run, run_gcm_libcrypto);
    return width == VaesWidth::bits512 ? bits512 : bits256;
}

}  // namespace cpu

Backend& libcrypto_backend() {
    static cpu::CpuBackend backend("libcrypto", cpu::libcrypto_version(), "", cpu::run_libcrypto,
                                   cpu::run_gcm_libcrypto);
    return backend;
}

Backend& aesni_backend() {
    static cpu::CpuBackend backend("aesni", "AES-NI, 8 blocks in flight", cpu::why_not_aesni(), cpu::aesni_run,
                                   cpu::run_gcm_libcrypto);
    return backend;
}

Backend& vaes_backend() {
    Backend& widest = cpu::vaes_backend(cpu::VaesWidth::bits512);
    return widest.usable() ? widest : cpu::vaes_backend(cpu::VaesWidth::bits256);
}

}  // namespace warpaes
