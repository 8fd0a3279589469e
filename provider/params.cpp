#include <strings.h>

#include <array>

#include "provider/algorithm.hpp"

namespace warpaes::provider {

const OSSL_PARAM* gettable_params(void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_MODE, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_BLOCK_SIZE, nullptr),
                                      OSSL_PARAM_int(OSSL_CIPHER_PARAM_AEAD, nullptr),
                                      OSSL_PARAM_int(OSSL_CIPHER_PARAM_CUSTOM_IV, nullptr),
                                      OSSL_PARAM_int(OSSL_CIPHER_PARAM_CTS, nullptr),
                                      OSSL_PARAM_int(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, nullptr),
                                      OSSL_PARAM_int(OSSL_CIPHER_PARAM_HAS_RAND_KEY, nullptr),
                                      OSSL_PARAM_END};
    return list;
}

int get_params(const Algorithm& a, OSSL_PARAM params[]) noexcept {
    const auto flag = [&](const char* name, bool value) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        return p == nullptr || OSSL_PARAM_set_int(p, value ? 1 : 0) == 1;
    };
    const auto size = [&](const char* name, std::size_t value) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        return p == nullptr || OSSL_PARAM_set_size_t(p, value) == 1;
    };
    OSSL_PARAM* const mode = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_MODE);
    if (mode != nullptr && OSSL_PARAM_set_uint(mode, a.mode) != 1) return 0;
    return flag(OSSL_CIPHER_PARAM_AEAD, a.aead) && flag(OSSL_CIPHER_PARAM_CUSTOM_IV, a.custom_iv) &&
                   flag(OSSL_CIPHER_PARAM_CTS, false) && flag(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, false) &&
                   flag(OSSL_CIPHER_PARAM_HAS_RAND_KEY, false) && size(OSSL_CIPHER_PARAM_KEYLEN, a.key_bits / 8) &&
                   size(OSSL_CIPHER_PARAM_BLOCK_SIZE, a.block_bits / 8) && size(OSSL_CIPHER_PARAM_IVLEN, a.iv_bits / 8)
               ? 1
               : 0;
}

const OSSL_PARAM* aead_gettable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, nullptr, 0),
                                      OSSL_PARAM_uint(iv_generated, nullptr),
                                      OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* aead_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, nullptr, 0),
                                      OSSL_PARAM_END};
    return list;
}

const Algorithm* find_algorithm(std::span<const Entry> entries, const char* name) noexcept {
    const std::size_t length = std::strlen(name);
    for (const Entry& entry : entries) {
        for (const char* at = entry.algorithm->names; *at != '\0';) {
            const std::size_t n = std::strcspn(at, ":");
            if (n == length && ::strncasecmp(at, name, n) == 0) return entry.algorithm;
            at += n + (at[n] == ':' ? 1 : 0);
        }
    }
    return nullptr;
}

}  // namespace warpaes::provider
