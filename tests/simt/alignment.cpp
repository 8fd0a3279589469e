// What the compiler calls at an address that is not a multiple of its type's alignment, where it was told to check
// (-fsanitize=alignment): a GPU stops there, "misaligned address". Instead of a sanitizer's runtime library, of which
// the layout of the arguments is.
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

}  // namespace

// NOLINTNEXTLINE: the compiler's name
extern "C" [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, std::uintptr_t address) {
    std::fprintf(stderr, "simt: misaligned address: %p is not a multiple of %u, %s:%u",
                 reinterpret_cast<void*>(address), 1u << mismatch->log_alignment, mismatch->where.file,
                 mismatch->where.line);
    if (simt::in_kernel()) {
        std::fprintf(stderr, "; block (%u,%u,%u), thread (%u,%u,%u)", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
                     threadIdx.y, threadIdx.z);
    }
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
    std::abort();
}
