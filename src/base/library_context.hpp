// An OpenSSL library context that the application's configuration does not affect.
#pragma once

#include <openssl/crypto.h>

#include "base/error.hpp"

namespace warpaes {

/// The library's own context, with OpenSSL's default provider. In the process-wide context, the application may have
/// replaced AES, possibly with a provider that calls this library. The context and the algorithms fetched from it live
/// as long as the process.
inline OSSL_LIB_CTX* library_context() {
    // A failure throws within the initializer, so that the next call tries again.
    static OSSL_LIB_CTX* const context = [] {
        OSSL_LIB_CTX* const made = OSSL_LIB_CTX_new();
        if (made == nullptr) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: OSSL_LIB_CTX_new failed");
        return made;
    }();
    return context;
}

}  // namespace warpaes
