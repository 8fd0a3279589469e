// The provider's state for OpenSSL, and code that is shared by all its algorithms.
#pragma once

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/proverr.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/clean_stack.hpp"
#include "base/secret.hpp"
#include "provider/counters.hpp"
#include "provider/settings.hpp"

namespace warpaes::provider {

using Byte = unsigned char;

/// One activation of the provider in a library context. A Provider is never freed, only reused, because contexts may
/// outlive the activation.
struct Provider {
    std::atomic<const OSSL_CORE_HANDLE*> handle{nullptr};  ///< null after OpenSSL has released it
    OSSL_FUNC_core_new_error_fn* new_error = nullptr;
    OSSL_FUNC_core_set_error_debug_fn* set_error_debug = nullptr;
    OSSL_FUNC_core_vset_error_fn* vset_error = nullptr;
    std::atomic<const Settings*> chosen{nullptr};
    unsigned openssl = 300;  ///< version of the OpenSSL that loaded the provider (305 is 3.5)
    Provider* next = nullptr;

    [[nodiscard]] const Settings* settings() const noexcept { return chosen.load(std::memory_order_acquire); }
    /// Raises the same libcrypto error that the default provider would raise.
    [[gnu::cold]] void raise(std::uint32_t code, const char* file, int line, const char* function) const noexcept;
};

/// The beginning of every context. Contexts are trivially copyable, and are copied, wiped and freed as plain memory.
struct Context {
    Provider* provider;
    Tally tally;
};

#define WARPAES_RAISE_LIB(context, library, reason)                                                              \
    (context)->provider->raise(static_cast<std::uint32_t>(ERR_PACK((library), 0, (reason))), __FILE__, __LINE__, \
                               __func__)
/// Raises an error of ERR_LIB_PROV and evaluates to 0, the return value of a failing provider function.
#define WARPAES_RAISE(context, reason) (WARPAES_RAISE_LIB(context, ERR_LIB_PROV, reason), 0)

/// Returns a zeroed context that is aligned for the kernels, or null if memory is exhausted.
template <class Type>
Type* make_context(void* provider, Kind kind) noexcept {
    static_assert(std::is_trivially_copyable_v<Type>);
    constexpr std::size_t bytes = (sizeof(Type) + 63) / 64 * 64;
    void* const memory = std::aligned_alloc(64, bytes);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0, bytes);
    Type* const made = new (memory) Type{};
    made->provider = static_cast<Provider*>(provider);
    made->tally.kind = kind;
    return made;
}

template <class Type>
void free_context(Type* context) noexcept {
    if (context == nullptr) return;
    context->tally.flush();
    wipe({reinterpret_cast<std::uint8_t*>(context), sizeof(Type)});
    std::free(context);
}

/// Overwrites the vector registers, because copying or expanding a key leaves parts of it there. The registers that
/// memcpy() uses depend on the processor and the C library, and later kernels may not overwrite them.
inline void clear_registers() noexcept {
    asm volatile("" ::: "memory");
    detail::clear_vector_registers();
}

/// Returns a copy of a context, with an empty tally.
template <class Type>
Type* copy_context(const Type* from) noexcept {
    Type* const made = make_context<Type>(from->provider, from->tally.kind);
    if (made == nullptr) return nullptr;
    std::memcpy(static_cast<void*>(made), from, sizeof(Type));
    clear_registers();
    made->tally.forget();
    return made;
}

/// Returns whether two buffers overlap without being the same buffer.
inline bool overlap_in_part(const void* in, std::size_t in_bytes, const void* out, std::size_t out_bytes) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(in), b = reinterpret_cast<std::uintptr_t>(out);
    return a != b && (a < b ? b - a < in_bytes : a - b < out_bytes);
}

/// Refuses partially overlapping buffers, which kernels do not support. The default provider produces wrong output for
/// such buffers.
#define WARPAES_REFUSE_OVERLAP(context, in, in_bytes, out, out_bytes)             \
    do {                                                                          \
        if (overlap_in_part(in, in_bytes, out, out_bytes)) [[unlikely]] {         \
            WARPAES_RAISE_LIB(context, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING); \
            return 0;                                                             \
        }                                                                         \
    } while (0)

/// Writes random bytes that libcrypto generates in a separate library context.
bool random_bytes(std::uint8_t* to, std::size_t bytes) noexcept;

using Dispatch = void (*)();
template <typename Function>
Dispatch dispatched(Function* function) noexcept {
    return reinterpret_cast<Dispatch>(function);
}

}  // namespace warpaes::provider
