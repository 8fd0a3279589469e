#include "base/clean_stack.hpp"

#include <alloca.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/secret.hpp"

namespace warpaes {

namespace {

/// The lowest address that was noted; 0: nobody wants to know it.
#if defined(WARPAES_CUDA_RUNTIME)
// Beside the memory that CUDA's runtime wants of a thread there is no room for more that dlopen has to place at once.
constinit thread_local std::uintptr_t deepest = 0;
#else
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uintptr_t deepest = 0;
#endif

void clear_vector_registers() noexcept {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        asm volatile(
            "vpxord %%zmm16, %%zmm16, %%zmm16\n vpxord %%zmm17, %%zmm17, %%zmm17\n vpxord %%zmm18, %%zmm18, %%zmm18\n"
            "vpxord %%zmm19, %%zmm19, %%zmm19\n vpxord %%zmm20, %%zmm20, %%zmm20\n vpxord %%zmm21, %%zmm21, %%zmm21\n"
            "vpxord %%zmm22, %%zmm22, %%zmm22\n vpxord %%zmm23, %%zmm23, %%zmm23\n vpxord %%zmm24, %%zmm24, %%zmm24\n"
            "vpxord %%zmm25, %%zmm25, %%zmm25\n vpxord %%zmm26, %%zmm26, %%zmm26\n vpxord %%zmm27, %%zmm27, %%zmm27\n"
            "vpxord %%zmm28, %%zmm28, %%zmm28\n vpxord %%zmm29, %%zmm29, %%zmm29\n vpxord %%zmm30, %%zmm30, %%zmm30\n"
            "vpxord %%zmm31, %%zmm31, %%zmm31\n" ::);
    }
    if (__builtin_cpu_supports("avx")) {
        // An instruction on the lower part clears the upper ones too. Sixteen of them take a quarter of vzeroall's
        // time.
        asm volatile(
            "vpxor %%xmm0, %%xmm0, %%xmm0\n vpxor %%xmm1, %%xmm1, %%xmm1\n vpxor %%xmm2, %%xmm2, %%xmm2\n"
            "vpxor %%xmm3, %%xmm3, %%xmm3\n vpxor %%xmm4, %%xmm4, %%xmm4\n vpxor %%xmm5, %%xmm5, %%xmm5\n"
            "vpxor %%xmm6, %%xmm6, %%xmm6\n vpxor %%xmm7, %%xmm7, %%xmm7\n vpxor %%xmm8, %%xmm8, %%xmm8\n"
            "vpxor %%xmm9, %%xmm9, %%xmm9\n vpxor %%xmm10, %%xmm10, %%xmm10\n vpxor %%xmm11, %%xmm11, %%xmm11\n"
            "vpxor %%xmm12, %%xmm12, %%xmm12\n vpxor %%xmm13, %%xmm13, %%xmm13\n vpxor %%xmm14, %%xmm14, %%xmm14\n"
            "vpxor %%xmm15, %%xmm15, %%xmm15\n vzeroupper" ::
                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                  "xmm12", "xmm13", "xmm14", "xmm15");
    } else {
        asm volatile(
            "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n"
            "pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n"
            "pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n"
            "pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15\n" ::
                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                  "xmm12", "xmm13", "xmm14", "xmm15");
    }
#endif
}

}  // namespace

[[gnu::noinline]] void note_stack_depth(std::size_t below) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - below;
    if (here < deepest) deepest = here;
}

namespace detail {

[[gnu::noinline]] bool begin_clean_stack(std::size_t least) noexcept {
    if (deepest != 0) {
        note_stack_depth(least);
        return false;
    }
    deepest = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - least;
    return true;
}

[[gnu::noinline]] void end_clean_stack() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const std::size_t bytes = here - deepest;
    deepest = 0;
    clear_vector_registers();
#if defined(__x86_64__)
    // What little a short message has used is overwritten before a function that is good at much has looked at it.
    if (bytes <= 1024) {
        const std::size_t lines = (bytes + 64) / 64 * 64;
        auto* at = static_cast<std::uint8_t*>(alloca(lines));
        if (__builtin_cpu_supports("avx")) {
            asm volatile(
                "vpxor %%xmm0, %%xmm0, %%xmm0\n"
                "1: vmovups %%ymm0, (%0)\n vmovups %%ymm0, 32(%0)\n add $64, %0\n cmp %1, %0\n jb 1b"
                : "+r"(at)
                : "r"(at + lines)
                : "xmm0", "cc", "memory");
        } else {
            asm volatile(
                "pxor %%xmm0, %%xmm0\n"
                "1: movups %%xmm0, (%0)\n movups %%xmm0, 16(%0)\n movups %%xmm0, 32(%0)\n movups %%xmm0, 48(%0)\n"
                "add $64, %0\n cmp %1, %0\n jb 1b"
                : "+r"(at)
                : "r"(at + lines)
                : "xmm0", "cc", "memory");
        }
        return;
    }
#endif
    wipe({static_cast<std::uint8_t*>(alloca(bytes)), bytes});
}

[[gnu::noinline]] std::uintptr_t leave_call() noexcept {
    return std::exchange(deepest, 0);
}

[[gnu::noinline]] void return_to_call(std::uintptr_t before) noexcept {
    deepest = before;
}

}  // namespace detail

}  // namespace warpaes
