// What ECB, CBC, CFB, OFB, CTR and XTS share: the context, and its parameters.
#pragma once

#include "base/clean_stack.hpp"
#include "provider/algorithm.hpp"
#include "provider/key.hpp"

namespace warpaes::provider {

struct Generic;
/// Text of whole blocks or of any length, as the mode wants it. The context has a key. 0: it failed.
using TextFunction = int (*)(Generic& c, unsigned char* out, const unsigned char* in, std::size_t bytes) noexcept;
/// `device_memory`: the text may lie there.
TextFunction text_function(Kind kind, bool device_memory) noexcept;

struct Generic : Context {
    Key key;
    TextFunction text;
    const Algorithm* algorithm;
    const cpu::UpdateKernels* kernels;
    alignas(16) std::uint8_t iv[16];   ///< as it stands
    alignas(16) std::uint8_t oiv[16];  ///< as it was given
    alignas(16) std::uint8_t buf[16];  ///< ECB, CBC: what waits; CTR: the key stream of the block in hand
    std::size_t bufsz;
    std::size_t ivlen, keylen, blocksize;
    unsigned num;  ///< CFB128, OFB, CTR: bytes of the block in hand that are used
    unsigned tlsversion;
    std::size_t tlsmacsize;
    bool enc, pad, use_bits, key_set, iv_set;
    bool device_memory;   ///< texts may lie there
    EVP_CIPHER_CTX* tls;  ///< CBC: once there was a record, as long as nothing is set anew
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

/// From here on what kernels have left in vector registers and on the stack is overwritten, as behind every call of the
/// library; below, it is left as libcrypto leaves it, for it would take as long as the text: of 1 KiB in CTR more than
/// there is to be won.
inline constexpr std::size_t cleaned_bytes = 2048;
static_assert(cleaned_bytes <= cpu::update_table_bytes);

/// Around all that is done to so many bytes: what comes before and behind a kernel leaves as much as it does.
template <typename Work>
auto cleaned(std::size_t bytes, const Work& work) {
    if (bytes < cleaned_bytes) [[likely]]
        return work();
    return clean_stack(work);
}

}  // namespace warpaes::provider
