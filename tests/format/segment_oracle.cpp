#include "segment_oracle.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

namespace warpaes::test {

namespace {

bool is_c2sp(const StreamParameters& p) {
    return p.format->name == "C2SP chunked encryption";
}

void require(bool ok) {
    if (!ok) throw std::runtime_error("oracle: libcrypto failed");
}

const char* digest_name(Hash hash) {
    switch (hash) {
    case Hash::sha1:
        return "SHA1";
    case Hash::sha224:
        return "SHA224";
    case Hash::sha256:
        return "SHA256";
    case Hash::sha384:
        return "SHA384";
    case Hash::sha512:
        return "SHA512";
    }
    throw std::runtime_error("oracle: no such hash");
}

/// Computes HKDF with libcrypto, or only HKDF-Expand if there is no salt.
Bytes hkdf(const char* digest, Bytes key, Bytes salt, Bytes info, std::size_t length) {
    const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                            EVP_KDF_CTX_free);
    int mode = salt.empty() ? EVP_KDF_HKDF_MODE_EXPAND_ONLY : EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(digest), 0),
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
        salt.empty() ? OSSL_PARAM_construct_end()
                     : OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
        OSSL_PARAM_construct_end()};
    Bytes out(length);
    require(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters) == 1);
    return out;
}

/// Runs one AES operation with a 12-byte nonce or a 16-byte counter. GCM appends its tag.
Bytes encrypt(const std::string& name, const Bytes& key, const Bytes& iv, std::span<const std::uint8_t> text) {
    const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
        EVP_CIPHER_fetch(nullptr, ("AES-" + std::to_string(8 * key.size()) + "-" + name).c_str(), nullptr),
        EVP_CIPHER_free);
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                  EVP_CIPHER_CTX_free);
    Bytes out(text.size() + 16);
    int n = 0, rest = 0;
    require(EVP_EncryptInit_ex2(context.get(), cipher.get(), key.data(), iv.data(), nullptr) == 1);
    require(EVP_EncryptUpdate(context.get(), out.data(), &n, text.data(), static_cast<int>(text.size())) == 1);
    require(EVP_EncryptFinal_ex(context.get(), out.data() + n, &rest) == 1);
    if (name == "GCM") {
        require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, out.data() + n) == 1);
        n += 16;
    }
    out.resize(static_cast<std::size_t>(n));
    return out;
}

Bytes join(std::initializer_list<Bytes> parts) {
    Bytes out;
    for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

Bytes text_bytes(const std::string& text) {
    return {text.begin(), text.end()};
}

Bytes big_endian(std::uint64_t value, std::size_t bytes) {
    Bytes out(bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(8, bytes); ++i) {
        out[bytes - 1 - i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
    return out;
}

Bytes part(const Bytes& bytes, std::size_t from, std::size_t to) {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to)};
}

/// Returns the keys derived from the key and the header: the AES key followed by the HMAC key, or by the base nonce and
/// the commitment.
Bytes derive(const StreamKey& key, const Bytes& aad, const Bytes& header) {
    const StreamParameters& p = key.parameters;
    const std::size_t n = p.aes_key_bytes;
    const Bytes secret(key.key.begin(), key.key.end());
    if (!is_c2sp(p)) {
        const std::size_t mac_bytes = p.format->hmac ? 32 : 0;
        return hkdf(digest_name(p.hkdf_hash), secret, part(header, 1, 1 + n), aad, n + mac_bytes);
    }
    const Bytes info = join({text_bytes("c2sp.org/chunked-encryption@v1+"),
                             text_bytes(n == 16 ? "AEAD_AES_128_GCM" : "AEAD_AES_256_GCM"),
                             {0},
                             part(header, 0, 24),
                             aad});
    return hkdf("SHA512", secret, {}, info, n + 12 + 32);
}

Bytes seal_one(const StreamKey& key, const Bytes& derived, const Bytes& header, std::uint64_t number, bool last,
               std::span<const std::uint8_t> text) {
    const StreamParameters& p = key.parameters;
    const std::size_t n = p.aes_key_bytes;
    const Bytes aes_key = part(derived, 0, n);
    if (is_c2sp(p)) {
        Bytes nonce = part(derived, n, n + 12);
        const Bytes counter = big_endian(number, 12);
        for (std::size_t i = 0; i < 12; ++i) nonce[i] = static_cast<std::uint8_t>(nonce[i] ^ counter[i]);
        return encrypt("GCM", aes_key, nonce, text);
    }
    const Bytes nonce = join({part(header, 1 + n, 8 + n), big_endian(number, 4), {std::uint8_t{last}}});
    if (!p.format->hmac) return encrypt("GCM", aes_key, nonce, text);
    const Bytes iv = join({nonce, Bytes(4, 0)});
    const Bytes sealed = encrypt("CTR", aes_key, iv, text), message = join({iv, sealed});
    Bytes mac(64);
    require(HMAC(EVP_get_digestbyname(digest_name(p.hmac_hash)), derived.data() + n, 32, message.data(), message.size(),
                 mac.data(), nullptr) != nullptr);
    mac.resize(p.tag_bytes);
    return join({sealed, mac});
}

}  // namespace

Rules rules_of(const StreamParameters& p) {
    if (is_c2sp(p)) return {24 + 32, false, true, std::uint64_t{1} << 38};
    return {1 + p.aes_key_bytes + 7, true, false, std::uint64_t{1} << 32};
}

Bytes seal_segment(const StreamKey& key, const Bytes& aad, std::span<const std::uint8_t> header, std::uint64_t number,
                   bool last, const Bytes& text) {
    const Bytes own(header.begin(), header.end());
    return seal_one(key, derive(key, aad, own), own, number, last, text);
}

Bytes seal(const StreamKey& key, const Bytes& aad, std::span<const std::uint8_t> header, const Bytes& plaintext) {
    const StreamParameters& p = key.parameters;
    const Rules rules = rules_of(p);
    const Bytes own(header.begin(), header.end()), derived = derive(key, aad, own);
    const std::size_t n = p.aes_key_bytes;
    Bytes file = is_c2sp(p) ? join({part(own, 0, 24), part(derived, n + 12, n + 44)}) : own;
    std::size_t at = 0;
    for (std::uint64_t i = 0;; ++i) {
        const std::size_t room = p.segment_bytes - p.tag_bytes - (i == 0 && rules.header_counts ? own.size() : 0);
        const std::size_t left = plaintext.size() - at;
        const bool last = rules.last_is_shorter ? left < room : left <= room;
        file =
            join({file, seal_one(key, derived, own, i, last, std::span(plaintext).subspan(at, std::min(left, room)))});
        at += std::min(left, room);
        if (last) return file;
    }
}

}  // namespace warpaes::test
