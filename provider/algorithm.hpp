// Fixed properties of ciphers, and the provider functions that report them.
#pragma once

#include <openssl/evp.h>

#include <span>

#include "provider/provider.hpp"

namespace warpaes::provider {

struct Algorithm {
    const char* names;  ///< the same names as in the default provider, including OIDs
    Kind kind;
    unsigned mode;  ///< EVP_CIPH_*_MODE
    bool aead;
    bool custom_iv;
    unsigned key_bits;
    unsigned block_bits;
    unsigned iv_bits;
};

/// An algorithm and its dispatch table.
struct Entry {
    const Algorithm* algorithm;
    const OSSL_DISPATCH* functions;
};

std::span<const Entry> generic_ciphers() noexcept;  ///< ECB, CFB, CFB8, CFB1, OFB, CTR
std::span<const Entry> cbc_ciphers() noexcept;
std::span<const Entry> xts_ciphers() noexcept;
std::span<const Entry> gcm_ciphers() noexcept;
std::span<const Entry> ccm_ciphers() noexcept;
std::span<const Entry> siv_ciphers() noexcept;
std::span<const Entry> gcm_siv_ciphers() noexcept;
std::span<const Entry> wrap_ciphers() noexcept;
const OSSL_DISPATCH* cmac_functions() noexcept;
const OSSL_DISPATCH* gmac_functions() noexcept;

int get_params(const Algorithm& algorithm, OSSL_PARAM params[]) noexcept;
const OSSL_PARAM* gettable_params(void* provider) noexcept;

template <const Algorithm& A>
int get_params_of(OSSL_PARAM params[]) noexcept {
    return get_params(A, params);
}

/// A cipher's own functions. cipher_functions() creates OpenSSL's dispatch table from them.
struct CipherCalls {
    void* (*create)(void* provider);
    void (*free)(void* context);
    void* (*copy)(void* context);
    /// Initializes encryption if `enc` is set, and decryption otherwise.
    int (*init)(void* context, const unsigned char* key, std::size_t keylen, const unsigned char* iv, std::size_t ivlen,
                const OSSL_PARAM params[], bool enc);
    OSSL_FUNC_cipher_update_fn* update;
    OSSL_FUNC_cipher_final_fn* final;
    OSSL_FUNC_cipher_cipher_fn* cipher;  ///< null if the cipher has no function for EVP_Cipher()
    OSSL_FUNC_cipher_get_ctx_params_fn* get_params;
    OSSL_FUNC_cipher_set_ctx_params_fn* set_params;
    OSSL_FUNC_cipher_gettable_ctx_params_fn* gettable;
    OSSL_FUNC_cipher_settable_ctx_params_fn* settable;
};

/// Frees a context that owns no other memory.
template <class Type>
void free_plain(void* context) noexcept {
    free_context(static_cast<Type*>(context));
}
template <class Type>
void* copy_plain(void* context) noexcept {
    return copy_context(static_cast<const Type*>(context));
}

template <const CipherCalls& Calls, bool Encrypt>
int init_one_way(void* context, const unsigned char* key, std::size_t keylen, const unsigned char* iv,
                 std::size_t ivlen, const OSSL_PARAM params[]) noexcept {
    return Calls.init(context, key, keylen, iv, ivlen, params, Encrypt);
}

template <const Algorithm& A, const CipherCalls& Calls>
const OSSL_DISPATCH* cipher_functions() noexcept {
    static const OSSL_DISPATCH list[] = {
        {OSSL_FUNC_CIPHER_NEWCTX, dispatched(Calls.create)},
        {OSSL_FUNC_CIPHER_FREECTX, dispatched(Calls.free)},
        {OSSL_FUNC_CIPHER_DUPCTX, dispatched(Calls.copy)},
        {OSSL_FUNC_CIPHER_ENCRYPT_INIT, dispatched(init_one_way<Calls, true>)},
        {OSSL_FUNC_CIPHER_DECRYPT_INIT, dispatched(init_one_way<Calls, false>)},
        {OSSL_FUNC_CIPHER_UPDATE, dispatched(Calls.update)},
        {OSSL_FUNC_CIPHER_FINAL, dispatched(Calls.final)},
        {OSSL_FUNC_CIPHER_GET_PARAMS, dispatched(get_params_of<A>)},
        {OSSL_FUNC_CIPHER_GETTABLE_PARAMS, dispatched(gettable_params)},
        {OSSL_FUNC_CIPHER_GET_CTX_PARAMS, dispatched(Calls.get_params)},
        {OSSL_FUNC_CIPHER_SET_CTX_PARAMS, dispatched(Calls.set_params)},
        {OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, dispatched(Calls.gettable)},
        {OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, dispatched(Calls.settable)},
        {Calls.cipher != nullptr ? OSSL_FUNC_CIPHER_CIPHER : 0, dispatched(Calls.cipher)},
        {0, nullptr}};
    return list;
}

/// Tag length of GCM, GCM-SIV and SIV.
inline constexpr std::size_t tag_bytes = 16;
/// Represents a length that has not been set.
inline constexpr std::size_t not_set = ~std::size_t{0};
/// Lengths for TLS 1.2 records in GCM and CCM: the fixed and the explicit parts of the IV, and the associated data.
inline constexpr std::size_t tls_fixed_bytes = 4, tls_explicit_bytes = 8, tls_aad_bytes = 13;

/// OSSL_CIPHER_PARAM_AEAD_IV_GENERATED, which OpenSSL has defined since version 3.4.
inline constexpr const char* iv_generated = "iv-generated";

// Parameter lists that several ciphers share.
const OSSL_PARAM* aead_gettable_ctx_params(void* context, void* provider) noexcept;
const OSSL_PARAM* aead_settable_ctx_params(void* context, void* provider) noexcept;

/// Returns the AES cipher called `name`, or null. `name` may be a name such as "AES-128-CBC", an alias or an OID. Case
/// does not matter.
const Algorithm* find_algorithm(std::span<const Entry> entries, const char* name) noexcept;

// Each of these functions accesses one parameter. It returns false and raises an error if the parameter is present but
// cannot be read or written.
inline bool set_size(const Context* context, OSSL_PARAM params[], const char* name, std::size_t value) noexcept {
    OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
    if (p == nullptr || OSSL_PARAM_set_size_t(p, value) == 1) return true;
    WARPAES_RAISE(context, PROV_R_FAILED_TO_SET_PARAMETER);
    return false;
}
inline bool set_uint(const Context* context, OSSL_PARAM params[], const char* name, unsigned value) noexcept {
    OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
    if (p == nullptr || OSSL_PARAM_set_uint(p, value) == 1) return true;
    WARPAES_RAISE(context, PROV_R_FAILED_TO_SET_PARAMETER);
    return false;
}
/// Fast path for EVP, which queries a single length whenever a key or an IV is set. Returns 1 if `params` is such a
/// query and was answered, otherwise 0.
inline int answer_length(OSSL_PARAM params[], std::size_t keylen, std::size_t ivlen) noexcept {
    if (params == nullptr || params[0].key == nullptr || params[1].key != nullptr) return 0;
    if (std::strcmp(params[0].key, OSSL_CIPHER_PARAM_KEYLEN) == 0) return OSSL_PARAM_set_size_t(params, keylen);
    if (std::strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0) return OSSL_PARAM_set_size_t(params, ivlen);
    return 0;
}

inline bool get_uint(const Context* context, const OSSL_PARAM params[], const char* name, unsigned& value,
                     bool& given) noexcept {
    const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, name);
    given = p != nullptr;
    if (p == nullptr || OSSL_PARAM_get_uint(p, &value) == 1) return true;
    WARPAES_RAISE(context, PROV_R_FAILED_TO_GET_PARAMETER);
    return false;
}
inline bool get_size(const Context* context, const OSSL_PARAM params[], const char* name, std::size_t& value,
                     bool& given) noexcept {
    const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, name);
    given = p != nullptr;
    if (p == nullptr || OSSL_PARAM_get_size_t(p, &value) == 1) return true;
    WARPAES_RAISE(context, PROV_R_FAILED_TO_GET_PARAMETER);
    return false;
}
/// For GCM and CCM: if `params` contains the associated data of a TLS 1.2 record, stores the data and the length of the
/// text. `tag` is the length of the record's tag. Raises the error `refused` if the data is invalid.
template <class Aead>
bool set_tls_aad(Aead& c, const OSSL_PARAM params[], std::size_t tag, int refused) noexcept {
    const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD);
    if (p == nullptr) return true;
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == nullptr) {
        return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER) != 0;
    }
    const std::size_t around = tls_explicit_bytes + (c.enc ? 0 : tag);
    std::size_t length = 0;
    if (p->data_size == tls_aad_bytes) {
        std::memcpy(c.buf, p->data, tls_aad_bytes);
        c.tls_aad_len = tls_aad_bytes;
        length = static_cast<std::size_t>(c.buf[11] << 8 | c.buf[12]);
    }
    if (length < around) {
        return WARPAES_RAISE(&c, refused) != 0;
    }
    length -= around;
    c.buf[11] = static_cast<std::uint8_t>(length >> 8);
    c.buf[12] = static_cast<std::uint8_t>(length);
    c.tls_aad_pad = tag;
    return true;
}

}  // namespace warpaes::provider
