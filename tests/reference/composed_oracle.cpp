#include "composed_oracle.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "evp_oracle.hpp"

namespace oracle {

namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using Cipher = std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)>;

void require(int result) {
    if (result != 1) throw std::runtime_error("libcrypto refused what the test asked of it");
}

Cipher fetch(std::size_t key_bytes, const std::string& mode) {
    const std::string name = "AES-" + std::to_string(8 * key_bytes) + "-" + mode;
    return {EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free};
}

Bytes sum(Bytes a, const Bytes& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
    return a;
}

/// Computes dbl (RFC 5297, 2.3).
Bytes dbl(const Bytes& s) {
    Bytes out(16);
    for (std::size_t i = 0; i < 16; ++i) {
        out[i] = static_cast<std::uint8_t>(s[i] << 1 | (i + 1 < 16 ? s[i + 1] >> 7 : 0));
    }
    if ((s[0] & 0x80) != 0) out[15] ^= 0x87;
    return out;
}

/// Computes S2V (RFC 5297, 2.4).
Bytes s2v(const Bytes& k1, const std::vector<Bytes>& components, const Bytes& last) {
    Bytes d = evp_cmac(k1, Bytes(16, 0));
    for (const Bytes& s : components) d = sum(dbl(d), evp_cmac(k1, s));
    if (last.size() >= 16) {
        Bytes t = last;
        for (std::size_t i = 0; i < 16; ++i) t[t.size() - 16 + i] ^= d[i];  // xorend
        return evp_cmac(k1, t);
    }
    Bytes padded = last;
    padded.push_back(0x80);
    padded.resize(16);
    return evp_cmac(k1, sum(dbl(d), padded));
}

}  // namespace

Bytes evp_wrap(bool padding, const Bytes& key, const Bytes& icv, const Bytes& text) {
    const Cipher cipher = fetch(key.size(), padding ? "WRAP-PAD" : "WRAP");
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    EVP_CIPHER_CTX_set_flags(context.get(), EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    require(EVP_EncryptInit_ex2(context.get(), cipher.get(), key.data(), icv.empty() ? nullptr : icv.data(), nullptr));
    Bytes out(text.size() + 32);
    int n = 0;
    require(EVP_EncryptUpdate(context.get(), out.data(), &n, text.data(), static_cast<int>(text.size())));
    out.resize(static_cast<std::size_t>(n));
    return out;
}

Bytes evp_siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text) {
    const Cipher cipher = fetch(k1.size(), "SIV");
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    Bytes key = k1;
    key.insert(key.end(), k2.begin(), k2.end());
    require(EVP_EncryptInit_ex2(context.get(), cipher.get(), key.data(), nullptr, nullptr));
    int n = 0;
    for (const Bytes& s : components) {
        require(EVP_EncryptUpdate(context.get(), nullptr, &n, s.data(), static_cast<int>(s.size())));
    }
    Bytes out(16 + text.size());
    require(EVP_EncryptUpdate(context.get(), out.data() + 16, &n, text.data(), static_cast<int>(text.size())));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, out.data()));
    return out;
}

Bytes siv(const Bytes& k1, const Bytes& k2, const std::vector<Bytes>& components, const Bytes& text) {
    Bytes out = s2v(k1, components, text);
    Bytes counter = out;
    counter[8] &= 0x7f;
    counter[12] &= 0x7f;
    if (text.empty()) return out;
    const Bytes sealed = *evp("CTR", true, k2, counter, text);
    out.insert(out.end(), sealed.begin(), sealed.end());
    return out;
}

namespace gcm_siv {

Bytes dot(const Bytes& a, const Bytes& b) {
    Bytes product(16, 0);
    // Bit i of a field element is bit i % 8 of byte i / 8. The loop takes the bits of b from the lowest: it adds a if
    // the bit is set, and then divides by x.
    for (unsigned i = 0; i < 128; ++i) {
        if ((b[i / 8] >> i % 8 & 1) != 0) product = sum(product, a);
        const bool carry = (product[0] & 1) != 0;
        for (unsigned k = 0; k < 16; ++k) {
            product[k] = static_cast<std::uint8_t>(product[k] >> 1 | (k < 15 ? product[k + 1] << 7 : 0));
        }
        // x^-1 = x^127 + x^126 + x^125 + x^120, because x^128 + x^127 + x^126 + x^121 + 1 = 0
        if (carry) product[15] ^= 0xe1;
    }
    return product;
}

Bytes polyval(const Bytes& h, const Bytes& x) {
    Bytes s(16, 0);
    for (std::size_t at = 0; at < x.size(); at += 16) {
        const auto block = x.begin() + static_cast<std::ptrdiff_t>(at);
        s = dot(sum(s, Bytes(block, block + 16)), h);
    }
    return s;
}

Bytes inverse(const Bytes& a) {  // a^(2^128 - 2)
    Bytes square = dot(a, a), result = square;
    for (int i = 2; i < 128; ++i) {
        square = dot(square, square);
        result = dot(result, square);
    }
    return result;
}

Keys derive(const Bytes& key, const Bytes& nonce) {
    Bytes all;
    for (unsigned i = 0; i < 2 + key.size() / 8; ++i) {
        Bytes block(16, 0);
        block[0] = static_cast<std::uint8_t>(i);
        std::copy(nonce.begin(), nonce.end(), block.begin() + 4);
        const Bytes out = *evp("ECB", true, key, {}, block);
        all.insert(all.end(), out.begin(), out.begin() + 8);
    }
    return {{all.begin(), all.begin() + 16}, {all.begin() + 16, all.end()}};
}

Bytes hashed(const Bytes& aad, const Bytes& text) {
    Bytes all = aad;
    all.resize((all.size() + 15) / 16 * 16);
    all.insert(all.end(), text.begin(), text.end());
    all.resize((all.size() + 15) / 16 * 16);
    for (const std::uint64_t bits : {8 * std::uint64_t{aad.size()}, 8 * std::uint64_t{text.size()}}) {
        for (unsigned i = 0; i < 8; ++i) all.push_back(static_cast<std::uint8_t>(bits >> 8 * i));
    }
    return all;
}

Bytes seal(const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text) {
    const Keys keys = derive(key, nonce);
    Bytes s = polyval(keys.authentication, hashed(aad, text));
    for (std::size_t i = 0; i < 12; ++i) s[i] ^= nonce[i];
    s[15] &= 0x7f;
    const Bytes tag = *evp("ECB", true, keys.encryption, {}, s);

    Bytes out, block = tag;
    block[15] |= 0x80;
    for (std::size_t at = 0; at < text.size(); at += 16) {
        const Bytes stream = *evp("ECB", true, keys.encryption, {}, block);
        for (std::size_t i = at; i < std::min(text.size(), at + 16); ++i) {
            out.push_back(static_cast<std::uint8_t>(text[i] ^ stream[i - at]));
        }
        for (unsigned i = 0; i < 4 && ++block[i] == 0; ++i) {
        }
    }
    out.insert(out.end(), tag.begin(), tag.end());
    return out;
}

}  // namespace gcm_siv

}  // namespace oracle
