// Work that only OpenSSL's own code can do, in a separate library context that contains only the default provider.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>

namespace warpaes::provider {

/// AES-CBC with TLS parameters. OpenSSL removes a record's padding and MAC in constant time.
struct TlsRecords {
    const char* cipher;
    const std::uint8_t* key;
    const std::uint8_t* iv;
    bool encrypt;
    unsigned version;
    std::size_t mac_bytes;
};

/// Returns a context for TLS records, or null on failure.
EVP_CIPHER_CTX* open_tls_records(const TlsRecords& records) noexcept;

/// Returns a context for "CMAC" or "GMAC" with any cipher, or null on failure.
EVP_MAC_CTX* open_mac(const char* name) noexcept;

}  // namespace warpaes::provider
