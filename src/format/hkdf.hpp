// HMAC (FIPS 198-1) and HKDF based on it (RFC 5869), with libcrypto's hashes. HKDF is implemented here because
// libcrypto's HKDF limits `info` to 2 KiB, and associated data may be longer.
#pragma once

#include <openssl/evp.h>

#include <initializer_list>
#include <memory>
#include <span>

#include "format/stream_key.hpp"

namespace warpaes {

/// An HMAC key, for any number of messages. A copy starts a new message. Not thread-safe.
class Hmac {
public:
    static constexpr std::size_t most_bytes = 64;

    Hmac(Hash hash, std::span<const std::uint8_t> key);
    Hmac(const Hmac& other);
    Hmac& operator=(const Hmac&) = delete;

    /// Computes the MAC of the concatenated parts and writes as many bytes of it as fit in `mac`.
    void compute(std::initializer_list<std::span<const std::uint8_t>> parts, std::span<std::uint8_t> mac);
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context_;
    std::size_t bytes_ = 0;
};

/// HKDF-Expand; `info` is the concatenation of the parts.
SecretVector hkdf_expand(Hash hash, std::span<const std::uint8_t> prk,
                         std::initializer_list<std::span<const std::uint8_t>> info, std::size_t length);
/// HKDF-Extract and HKDF-Expand.
SecretVector hkdf(Hash hash, std::span<const std::uint8_t> key, std::span<const std::uint8_t> salt,
                  std::span<const std::uint8_t> info, std::size_t length);

}  // namespace warpaes
