// What OpenSSL's own code alone will do, in a library context of our own with nothing but its default provider.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>

namespace warpaes::provider {

/// AES-CBC with the parameters of TLS: padding and MAC of a record are taken off in constant time.
struct TlsRecords {
    const char* cipher;
    const std::uint8_t* key;
    const std::uint8_t* iv;
    bool encrypt;
    unsigned version;
    std::size_t mac_bytes;
};

/// Null if it fails.
EVP_CIPHER_CTX* open_tls_records(const TlsRecords& records) noexcept;

/// "CMAC" or "GMAC" with any cipher; null if it fails.
EVP_MAC_CTX* open_mac(const char* name) noexcept;

}  // namespace warpaes::provider
