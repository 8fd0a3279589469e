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

/// libcrypto's HKDF; without a salt only HKDF-Expand.
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

/// One AES operation with a 12-byte nonce or a 16-byte counter; GCM appends its tag.
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

Bytes seal_tink(const StreamKey& key, const Bytes& aad, const Bytes& header, const Bytes& plaintext) {
    const StreamParameters& p = key.parameters;
    const bool gcm = p.format == SegmentFormat::gcm_hkdf;
    const std::size_t dk = p.aes_key_bytes;
    const Bytes secret(key.key.get().begin(), key.key.get().end());
    const Bytes km = hkdf(digest_name(p.hkdf_hash), secret, part(header, 1, 1 + dk), aad, dk + (gcm ? 0 : 32));
    Bytes file = header;
    std::size_t at = 0;
    for (std::uint64_t i = 0;; ++i) {
        const std::size_t room = p.segment_bytes - p.tag_bytes - (i == 0 ? header.size() : 0);
        const bool last = plaintext.size() - at <= room;
        const Bytes text = part(plaintext, at, last ? plaintext.size() : at + room);
        const Bytes nonce = join({part(header, 1 + dk, 8 + dk), big_endian(i, 4), {std::uint8_t{last}}});
        if (gcm) {
            file = join({file, encrypt("GCM", km, nonce, text)});
        } else {
            const Bytes iv = join({nonce, Bytes(4, 0)});
            const Bytes sealed = encrypt("CTR", part(km, 0, dk), iv, text), message = join({iv, sealed});
            Bytes mac(64);
            require(HMAC(EVP_get_digestbyname(digest_name(p.hmac_hash)), km.data() + dk, 32, message.data(),
                         message.size(), mac.data(), nullptr) != nullptr);
            mac.resize(p.tag_bytes);
            file = join({file, sealed, mac});
        }
        at += text.size();
        if (last) return file;
    }
}

Bytes seal_c2sp(const StreamKey& key, const Bytes& aad, const Bytes& header, const Bytes& plaintext) {
    const std::size_t n = key.parameters.aes_key_bytes;
    const Bytes secret(key.key.get().begin(), key.key.get().end()), salt = part(header, 0, 24);
    const Bytes info = join({text_bytes("c2sp.org/chunked-encryption@v1+"),
                             text_bytes(n == 16 ? "AEAD_AES_128_GCM" : "AEAD_AES_256_GCM"),
                             {0},
                             salt,
                             aad});
    const Bytes derived = hkdf("SHA512", secret, {}, info, n + 12 + 32);
    Bytes file = join({salt, part(derived, n + 12, n + 44)});
    for (std::uint64_t k = 0;; ++k) {
        const std::size_t begin = std::min<std::size_t>(k * 16384, plaintext.size());
        const std::size_t end = std::min<std::size_t>(begin + 16384, plaintext.size());
        Bytes nonce = part(derived, n, n + 12);
        const Bytes number = big_endian(k, 12);
        for (std::size_t i = 0; i < 12; ++i) nonce[i] = static_cast<std::uint8_t>(nonce[i] ^ number[i]);
        file = join({file, encrypt("GCM", part(derived, 0, n), nonce, part(plaintext, begin, end))});
        if (end - begin < 16384) return file;
    }
}

}  // namespace

Bytes seal(const StreamKey& key, const Bytes& aad, std::span<const std::uint8_t> header, const Bytes& plaintext) {
    const Bytes own(header.begin(), header.end());
    return key.parameters.format == SegmentFormat::c2sp ? seal_c2sp(key, aad, own, plaintext)
                                                        : seal_tink(key, aad, own, plaintext);
}

}  // namespace warpaes::test
