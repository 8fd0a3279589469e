// Overwrites secrets that a call leaves in memory that no object owns: round keys that the compiler spilled, blocks in
// stack frames that have ended, and the vector registers, which lazy binding of symbols saves on the caller's stack. At
// the end of a call or of a thread's task, the stack is overwritten down to the deepest address that was used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/secret.hpp"
#include "base/stack_depth.hpp"

namespace warpaes {

/// The minimum number of stack bytes to overwrite: enough for functions without large locals.
inline constexpr std::size_t usual_stack = 2048;

namespace detail {

/// The lowest stack address that this thread has recorded; 0: no cleaning call is in progress.
#if !defined(WARPAES_CUDA_RUNTIME)
// A short message takes 12 ns and reads this variable several times. All thread-local variables of the library are
// therefore in static TLS. dlopen has little room for static TLS, so the variables are few and small
// (tests/project/test_tls.py). If the CUDA runtime is linked in, its large variables leave no room, and this variable
// is not in static TLS.
[[gnu::tls_model("initial-exec")]]
#endif
extern constinit thread_local std::uintptr_t deepest;

/// Starts recording the stack depth. Returns whether this is the thread's outermost cleaning call, which must clean up.
[[nodiscard]] bool begin_clean_stack(std::size_t least) noexcept;
[[gnu::always_inline]] inline void clear_vector_registers() noexcept {
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
        // Writing the lower part of a register also clears its upper parts. Sixteen such instructions take a quarter of
        // the time of vzeroall.
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
#elif defined(__aarch64__)
    // The lower halves of v8 to v15 belong to the caller and have not changed since this function was called. Writing
    // them to themselves clears the upper parts, including those of SVE registers.
    asm volatile(
        "movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n movi v4.2d, #0\n movi v5.2d, #0\n"
        "movi v6.2d, #0\n movi v7.2d, #0\n fmov d8, d8\n fmov d9, d9\n fmov d10, d10\n fmov d11, d11\n"
        "fmov d12, d12\n fmov d13, d13\n fmov d14, d14\n fmov d15, d15\n movi v16.2d, #0\n movi v17.2d, #0\n"
        "movi v18.2d, #0\n movi v19.2d, #0\n movi v20.2d, #0\n movi v21.2d, #0\n movi v22.2d, #0\n"
        "movi v23.2d, #0\n movi v24.2d, #0\n movi v25.2d, #0\n movi v26.2d, #0\n movi v27.2d, #0\n"
        "movi v28.2d, #0\n movi v29.2d, #0\n movi v30.2d, #0\n movi v31.2d, #0" ::
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
              "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

/// Overwrites the stack from the caller's stack pointer down to the lower address `to`. The vector registers must
/// already be zero.
[[gnu::always_inline]] inline void wipe_below(std::uintptr_t to) noexcept {
#if defined(__x86_64__)
    // The stack pointer is moved down during the loop, because a signal handler may use the memory below it.
    [[maybe_unused]] std::uintptr_t end, at;  // nvcc does not count the assembly as a use
    if (__builtin_cpu_supports("avx512f")) {
        asm volatile(
            "mov %%rsp, %[end]\n lea -256(%%rsp), %[at]\n lea -256(%[to]), %%rsp\n"
            "1: vmovdqu64 %%zmm0, (%[at])\n vmovdqu64 %%zmm0, 64(%[at])\n vmovdqu64 %%zmm0, 128(%[at])\n"
            "vmovdqu64 %%zmm0, 192(%[at])\n sub $256, %[at]\n  cmp %%rsp, %[at]\n ja 1b\n mov %[end], %%rsp"
            : [end] "=&r"(end), [at] "=&r"(at)
            : [to] "r"(to)
            : "cc", "memory");
    } else {
        asm volatile(
            "mov %%rsp, %[end]\n lea -64(%%rsp), %[at]\n lea -64(%[to]), %%rsp\n"
            "1: movups %%xmm0, (%[at])\n movups %%xmm0, 16(%[at])\n movups %%xmm0, 32(%[at])\n"
            "movups %%xmm0, 48(%[at])\n sub $64, %[at]\n cmp %%rsp, %[at]\n ja 1b\n mov %[end], %%rsp"
            : [end] "=&r"(end), [at] "=&r"(at)
            : [to] "r"(to)
            : "cc", "memory");
    }
#elif defined(__aarch64__)
    [[maybe_unused]] std::uintptr_t end, at, low;
    asm volatile(
        "mov %[end], sp\n and %[low], %[to], #-64\n sub %[low], %[low], #64\n mov %[at], sp\n mov sp, %[low]\n"
        "1: stp xzr, xzr, [%[at], #-16]!\n stp xzr, xzr, [%[at], #-16]!\n stp xzr, xzr, [%[at], #-16]!\n"
        "stp xzr, xzr, [%[at], #-16]!\n cmp %[at], %[low]\n b.hi 1b\n mov sp, %[end]"
        : [end] "=&r"(end), [at] "=&r"(at), [low] "=&r"(low)
        : [to] "r"(to)
        : "cc", "memory");
#else
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    wipe({static_cast<std::uint8_t*>(__builtin_alloca(here - to)), here - to});
#endif
}

/// Overwrites the vector registers and the stack that is no longer in use.
void end_clean_stack() noexcept;

template <typename Work>
[[gnu::noinline]] decltype(auto) in_a_frame_of_its_own(Work&& work) {
    return std::forward<Work>(work)();
}

}  // namespace detail

/// Calls `work()`, then overwrites the stack that it used and the vector registers. A nested call only calls `work()`.
template <typename Work>
decltype(auto) clean_stack(Work&& work) {
    struct End {
        ~End() {
            if (outermost) detail::end_clean_stack();
        }
        const bool outermost;
    } const end{detail::begin_clean_stack(usual_stack)};
    return detail::in_a_frame_of_its_own(std::forward<Work>(work));
}

/// Stack size in bytes of a function that keeps only pointers and lengths in its frame.
inline constexpr std::size_t short_stack = 256;

/// Like clean_stack(), but overwrites the stack only down to `short_stack` bytes below this frame, or down to the depth
/// that `function` records. Used for messages that take less time than a full cleanup. `function` is called directly,
/// so the caller's frame contains none of its data.
template <typename Argument>
[[gnu::always_inline]] inline bool clean_after(bool (*function)(const Argument&), const Argument& argument) {
    if (detail::deepest != 0) return function(argument);
    struct End {
        [[gnu::always_inline]] ~End() {
            const std::uintptr_t to = std::exchange(detail::deepest, 0);
            detail::clear_vector_registers();
            detail::wipe_below(to);
        }
    } const end;
    std::uintptr_t here;
#if defined(__x86_64__)
    asm volatile("lea %c1(%%rsp), %0" : "=r"(here) : "i"(-static_cast<int>(short_stack)));
#elif defined(__aarch64__)
    asm volatile("sub %0, sp, %1" : "=r"(here) : "i"(short_stack));
#else
    here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - short_stack;
#endif
    detail::deepest = here;
    return function(argument);
}

}  // namespace warpaes
