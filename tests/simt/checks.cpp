// Defines the functions that the compiler's checks call (-fsanitize=alignment,shift-exponent). The checks find
// addresses that are not a multiple of their type's alignment, where a GPU stops with "misaligned address", and shifts
// by at least the width of the shifted value. The functions replace the sanitizer's runtime library, which defines the
// layout of the arguments.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "executor.hpp"

namespace {

struct SourceLocation {
    const char* file;
    std::uint32_t line, column;
};

struct Mismatch {
    SourceLocation where;
    const void* type;
    unsigned char log_alignment, kind;
};

struct Shift {
    SourceLocation where;
    const void *left_type, *right_type;
};

[[noreturn]] [[gnu::format(printf, 2, 3)]] void stop(const SourceLocation& where, const char* format, ...) {
    std::fprintf(stderr, "simt: ");
    va_list list;
    va_start(list, format);
    std::vfprintf(stderr, format, list);
    va_end(list);
    std::fprintf(stderr, ", %s:%u", where.file, where.line);
    if (simt::in_kernel()) {
        std::fprintf(stderr, "; block (%u,%u,%u), thread (%u,%u,%u)", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
                     threadIdx.y, threadIdx.z);
    }
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
    std::abort();
}

}  // namespace

// NOLINTBEGIN: names that the compiler requires
extern "C" [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, std::uintptr_t address) {
    stop(mismatch->where, "misaligned address: %p is not a multiple of %u", reinterpret_cast<void*>(address),
         1u << mismatch->log_alignment);
}
extern "C" [[noreturn]] void __ubsan_handle_shift_out_of_bounds_abort(Shift* shift, std::uintptr_t, std::uintptr_t by) {
    stop(shift->where, "shift exponent %llu is too large", static_cast<unsigned long long>(by));
}
// NOLINTEND
