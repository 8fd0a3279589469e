#include "provider/delegate.hpp"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "base/library_context.hpp"
#include "provider/provider.hpp"

namespace warpaes::provider {

EVP_CIPHER_CTX* open_tls_records(const TlsRecords& r) noexcept {
    try {
        EVP_CIPHER* const cipher = EVP_CIPHER_fetch(library_context(), r.cipher, "provider=default");
        EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
        unsigned version = r.version;
        std::size_t mac_bytes = r.mac_bytes;
        const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                                     OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_bytes),
                                     OSSL_PARAM_construct_end()};
        const bool opened = cipher != nullptr && context != nullptr &&
                            EVP_CipherInit_ex2(context, cipher, r.key, r.iv, r.encrypt ? 1 : 0, params) == 1;
        EVP_CIPHER_free(cipher);
        if (opened) return context;
        EVP_CIPHER_CTX_free(context);
    } catch (...) {
    }
    return nullptr;
}

EVP_MAC_CTX* open_mac(const char* name) noexcept {
    try {
        EVP_MAC* const mac = EVP_MAC_fetch(library_context(), name, "provider=default");
        EVP_MAC_CTX* const context = EVP_MAC_CTX_new(mac);
        EVP_MAC_free(mac);
        return context;
    } catch (...) {
        return nullptr;
    }
}

bool random_bytes(std::uint8_t* to, std::size_t bytes) noexcept {
    try {
        return RAND_bytes_ex(library_context(), to, bytes, 0) == 1;
    } catch (...) {
        return false;
    }
}

}  // namespace warpaes::provider
