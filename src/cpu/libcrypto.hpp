// AES through libcrypto's EVP: every mode, everywhere.
#pragma once

#include <openssl/types.h>

#include <string>

#include "backend/backend.hpp"

namespace warpaes::cpu {

void run_libcrypto(const Run& run);
void run_gcm_libcrypto(const GcmRun& run);

/// The cipher in a library context of our own. Fetched once: that takes longer than encrypting a kilobyte. Thread-safe.
const EVP_CIPHER* libcrypto_cipher(Mode mode, int rounds);

/// For example "OpenSSL 3.0.19"; the library that is running, not the one compiled against.
std::string libcrypto_version();

}  // namespace warpaes::cpu
