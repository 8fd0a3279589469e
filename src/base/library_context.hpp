// OpenSSL without what the application may have done to it.
#pragma once

#include <openssl/types.h>

namespace warpaes {

/// A library context of our own, with OpenSSL's default provider. In the process-wide one the application may have
/// replaced AES, even by a provider that calls this library. Lives as long as the process, as what is fetched does.
OSSL_LIB_CTX* library_context();

}  // namespace warpaes
