// AES through libcrypto's EVP: every mode, everywhere.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "backend/stretch.hpp"

namespace warpaes::cpu {

void run_libcrypto(const Run& run);
void run_gcm_libcrypto(const GcmRun& run);

/// The cipher in library_context(). Fetched once: that takes longer than encrypting a kilobyte. Thread-safe.
const EVP_CIPHER* libcrypto_cipher(Mode mode, int rounds);

/// An EVP operation under one key, started once or many times. EVP_CIPHER_CTX_free cleanses its key.
class EvpOperation {
public:
    /// Without an `iv` it is started when it gets one, if the mode has any.
    EvpOperation(Mode mode, Direction direction, int rounds, const std::uint8_t* key, const std::uint8_t* iv = nullptr);

    void set_iv_length(std::size_t bytes);
    void start(const Block& iv);
    /// GCM: null `output` for associated data.
    void update(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes);
    /// The last 1 to 7 bits of a CFB1 message; the unused bits of `output` become zero.
    void update_bits(const std::uint8_t* input, std::uint8_t* output, int bits);
    /// GCM encryption: the tag.
    [[nodiscard]] Block finish();

private:
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_;
};

/// For example "OpenSSL 3.0.19"; the library that is running, not the one compiled against.
std::string libcrypto_version();

}  // namespace warpaes::cpu
