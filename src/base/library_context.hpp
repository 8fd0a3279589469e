// An OpenSSL library context that the application's configuration does not affect.
#pragma once

#include <openssl/types.h>

namespace warpaes {

/// The library's own context, with OpenSSL's default provider. In the process-wide context the application may have
/// replaced AES, even by a provider that calls this library. It lives as long as the process, as do the algorithms
/// fetched from it.
OSSL_LIB_CTX* library_context();

}  // namespace warpaes
