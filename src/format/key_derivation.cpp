#include "format/key_derivation.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/stack_depth.hpp"

namespace warpaes {

namespace {

constexpr std::size_t iv_bytes = std::tuple_size_v<decltype(DerivedKey::iv)>;

using Digest = std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)>;

Digest fetch_digest(const std::string& name) {
    Digest digest(EVP_MD_fetch(nullptr, name.c_str(), nullptr), &EVP_MD_free);
    if (digest == nullptr) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "digest: libcrypto does not support '" + name + "'; use sha256, the usual digest");
    }
    return digest;
}

const EVP_CIPHER* cipher_for(std::uint32_t key_bits) {
    switch (key_bits) {
    case 128:
        return EVP_aes_128_cbc();
    case 192:
        return EVP_aes_192_cbc();
    case 256:
        return EVP_aes_256_cbc();
    default:
        throw Error(WARPAES_ERROR_KEY_LENGTH, "key_bits: must be 128, 192 or 256, got " + std::to_string(key_bits));
    }
}

}  // namespace

Secret<DerivedKey> derive_key(const KeyDerivation& how, std::span<const std::uint8_t> passphrase,
                              std::span<const std::uint8_t> salt) {
    note_stack_depth(libcrypto_stack);
    const EVP_CIPHER* cipher = cipher_for(how.key_bits);
    const Digest digest = fetch_digest(how.digest);
    Secret<DerivedKey> derived;
    derived->key_bytes = how.key_bits / 8;
    const auto length = static_cast<int>(passphrase.size());
    bool ok = false;
    if (how.kdf == Kdf::pbkdf2) {
        Secret<std::array<std::uint8_t, 32 + iv_bytes>> both;
        const std::size_t wanted = derived->key_bytes + iv_bytes;
        ok = PKCS5_PBKDF2_HMAC(reinterpret_cast<const char*>(passphrase.data()), length, salt.data(),
                               static_cast<int>(salt.size()), static_cast<int>(how.iterations), digest.get(),
                               static_cast<int>(wanted), both->data()) == 1;
        std::copy_n(both->begin(), derived->key_bytes, derived->key.begin());
        std::copy_n(both->begin() + static_cast<std::ptrdiff_t>(derived->key_bytes), iv_bytes, derived->iv.begin());
    } else {
        ok = EVP_BytesToKey(cipher, digest.get(), salt.empty() ? nullptr : salt.data(), passphrase.data(), length, 1,
                            derived->key.data(), derived->iv.data()) == static_cast<int>(derived->key_bytes);
    }
    if (!ok) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "passphrase: libcrypto cannot derive a key from it with digest '" + how.digest + "'");
    }
    return derived;
}

}  // namespace warpaes
