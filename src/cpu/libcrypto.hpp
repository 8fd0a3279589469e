// AES through libcrypto's EVP: every mode, everywhere.
#pragma once

#include <openssl/types.h>

#include <string>

#include "backend/stretch.hpp"

namespace warpaes::cpu {

void run_libcrypto(const Run& run);
void run_gcm_libcrypto(const GcmRun& run);

/// A library context of our own, with OpenSSL's default provider. In the process-wide one the application may have
/// replaced AES, even by a provider that calls this library. Lives as long as the process, as what is fetched does.
OSSL_LIB_CTX* library_context();
/// The cipher in that context. Fetched once: that takes longer than encrypting a kilobyte. Thread-safe.
const EVP_CIPHER* libcrypto_cipher(Mode mode, int rounds);

/// For example "OpenSSL 3.0.19"; the library that is running, not the one compiled against.
std::string libcrypto_version();

}  // namespace warpaes::cpu
