#include "base/library_context.hpp"

#include <openssl/crypto.h>

#include "base/error.hpp"

namespace warpaes {

OSSL_LIB_CTX* library_context() {
    static OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
    if (context == nullptr) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: OSSL_LIB_CTX_new failed");
    return context;
}

}  // namespace warpaes
