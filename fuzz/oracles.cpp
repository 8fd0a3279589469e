#include "oracles.hpp"

#include <openssl/evp.h>

#include <map>
#include <memory>

namespace fuzz {

namespace {

struct Free {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

const EVP_CIPHER* find(const std::string& name) {
    static std::map<std::string, std::unique_ptr<EVP_CIPHER, Free>> found;
    auto& cipher = found[name];
    if (cipher == nullptr) cipher.reset(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr));
    return cipher.get();
}

void must(int result) {
    require(result == 1, "libcrypto refused what the fuzzer asked of it");
}

/// Processes a whole message. The output is as long as the input.
Bytes run(EVP_CIPHER_CTX* context, const Bytes& in) {
    Bytes out(in.size() + 16);
    int n = 0, rest = 0;
    if (!in.empty()) must(EVP_CipherUpdate(context, out.data(), &n, in.data(), static_cast<int>(in.size())));
    must(EVP_CipherFinal_ex(context, out.data() + n, &rest));
    out.resize(static_cast<std::size_t>(n + rest));
    return out;
}

}  // namespace

Sealed gcm(const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& text) {
    const std::unique_ptr<EVP_CIPHER_CTX, Free> context(EVP_CIPHER_CTX_new());
    const EVP_CIPHER* cipher = find("AES-" + std::to_string(8 * key.size()) + "-GCM");
    must(EVP_CipherInit_ex2(context.get(), cipher, nullptr, nullptr, 1, nullptr));
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(iv.size()), nullptr));
    must(EVP_CipherInit_ex2(context.get(), nullptr, key.data(), iv.data(), 1, nullptr));
    int n = 0;
    if (!aad.empty()) must(EVP_CipherUpdate(context.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())));
    Sealed sealed{run(context.get(), text), Bytes(16)};
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, sealed.tag.data()));
    return sealed;
}

Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, Bytes tweak, std::size_t unit, const Bytes& text,
          std::uint64_t step) {
    const std::unique_ptr<EVP_CIPHER_CTX, Free> context(EVP_CIPHER_CTX_new());
    Bytes both = key;
    both.insert(both.end(), tweak_key.begin(), tweak_key.end());
    must(EVP_CipherInit_ex2(context.get(), find("AES-" + std::to_string(8 * key.size()) + "-XTS"), both.data(), nullptr,
                            encrypt ? 1 : 0, nullptr));
    Bytes out;
    if (unit == 0) unit = text.size();
    for (std::size_t at = 0; at < text.size(); at += unit) {
        must(EVP_CipherInit_ex2(context.get(), nullptr, nullptr, tweak.data(), encrypt ? 1 : 0, nullptr));
        const std::size_t n = std::min(unit, text.size() - at);
        const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
        const Bytes one = run(context.get(), Bytes(from, from + static_cast<std::ptrdiff_t>(n)));
        out.insert(out.end(), one.begin(), one.end());
        std::uint64_t carry = step;
        for (std::uint8_t& byte : tweak) {
            carry += byte;
            byte = static_cast<std::uint8_t>(carry);
            carry >>= 8;
        }
    }
    return out;
}

}  // namespace fuzz
