// AES through libcrypto's EVP, in every mode and on every machine.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "backend/stretch.hpp"

namespace warpaes::cpu {

void run_libcrypto(const Run& run);
void run_gcm_libcrypto(const GcmRun& run);

/// Returns the cipher from library_context(). The cipher is fetched only once, because fetching takes longer than
/// encrypting a kilobyte. Thread-safe.
const EVP_CIPHER* libcrypto_cipher(Mode mode, int rounds);

/// An EVP operation under one key, which can be started many times. EVP_CIPHER_CTX_free wipes its key.
class EvpOperation {
public:
    /// If the mode has an IV but `iv` is empty, start() starts the operation.
    EvpOperation(Mode mode, Direction direction, int rounds, const std::uint8_t* key, const std::uint8_t* iv = nullptr);

    void set_iv_length(std::size_t bytes);
    void start(const Block& iv);
    /// GCM: a null `output` means that `input` is associated data.
    void update(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes);
    /// Processes the last 1 to 7 bits of a CFB1 message; the unused bits of `output` become zero.
    void update_bits(const std::uint8_t* input, std::uint8_t* output, int bits);
    /// GCM encryption: returns the tag.
    [[nodiscard]] Block finish();

private:
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_;
};

/// Returns the version of the library at run time, not at compile time, for example "OpenSSL 3.0.19".
std::string libcrypto_version();

}  // namespace warpaes::cpu
