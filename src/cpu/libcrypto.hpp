// AES through libcrypto's EVP: every mode, everywhere.
#pragma once

#include <string>

#include "backend/backend.hpp"

namespace warpaes::cpu {

void run_libcrypto(const Run& run);
void run_gcm_libcrypto(const GcmRun& run);

/// For example "OpenSSL 3.0.19"; the library that is running, not the one compiled against.
std::string libcrypto_version();

}  // namespace warpaes::cpu
