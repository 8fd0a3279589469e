// The context and the parameters that are shared by ECB, CBC, CFB, OFB, CTR and XTS.
#pragma once

#include "base/clean_stack.hpp"
#include "provider/algorithm.hpp"
#include "provider/key.hpp"

namespace warpaes::provider {

struct Generic;
/// Processes text, in complete blocks or of any length, depending on the mode. The context must have a key. Returns 0
/// on failure.
using TextFunction = int (*)(Generic& c, unsigned char* out, const unsigned char* in, std::size_t bytes) noexcept;
/// Returns the function for a cipher. `device_memory`: whether text may be in device memory.
TextFunction text_function(Kind kind, bool device_memory) noexcept;

struct Generic : Context {
    Key key;
    TextFunction text;
    const Algorithm* algorithm;
    const cpu::UpdateKernels* kernels;
    alignas(16) std::uint8_t iv[16];   ///< current IV
    alignas(16) std::uint8_t oiv[16];  ///< IV as set by the caller
    alignas(16) std::uint8_t buf[16];  ///< waiting input (ECB, CBC) or key stream of the current block (CTR)
    std::size_t bufsz;
    std::size_t ivlen, keylen, blocksize;
    unsigned num;  ///< number of used bytes in the current block (CFB128, OFB, CTR)
    unsigned tlsversion;
    std::size_t tlsmacsize;
    bool enc, pad, use_bits, key_set, iv_set;
    bool device_memory;   ///< text may be in device memory
    EVP_CIPHER_CTX* tls;  ///< set from the first TLS record until new parameters are set (CBC)
};

Generic* make_generic(void* provider, const Algorithm& algorithm) noexcept;
void free_generic(void* context) noexcept;
void* copy_generic(void* context) noexcept;

int generic_set_iv(Generic& c, const unsigned char* iv, std::size_t ivlen) noexcept;
int generic_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept;
int generic_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept;
const OSSL_PARAM* generic_gettable_ctx_params(void* context, void* provider) noexcept;
const OSSL_PARAM* generic_settable_ctx_params(void* context, void* provider) noexcept;

template <const Algorithm& A>
void* new_generic(void* provider) noexcept {
    return make_generic(provider, A);
}

/// After updates of this length and above, the provider overwrites the data that kernels have left in vector registers
/// and on the stack, as every library call does. After shorter updates, the data remains, as it does in libcrypto:
/// overwriting it would take as long as the update itself. For 1 KiB of CTR, overwriting would take more time than the
/// kernel saves compared with libcrypto.
inline constexpr std::size_t cleaned_bytes = 2048;
static_assert(cleaned_bytes <= cpu::update_table_bytes);

/// Calls `work`, which processes an update of `bytes` bytes, and then overwrites registers and stack if the update is
/// long. `work` is the complete update, because the code around a kernel leaves as much text there as the kernel does.
template <typename Work>
auto cleaned(std::size_t bytes, const Work& work) {
    if (bytes < cleaned_bytes) [[likely]]
        return work();
    return clean_stack(work);
}

}  // namespace warpaes::provider
