#include "evp_oracle.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace oracle {

namespace {

/// Returns a cipher that is fetched only once, because a fetch takes longer than a short message and each
/// initialization would repeat it.
const EVP_CIPHER* find_cipher(const std::string& mode, std::size_t key_bytes) {
    static std::mutex mutex;
    // Not destroyed, because libcrypto may be cleaned up earlier.
    static auto& found = *new std::map<std::pair<std::string, std::size_t>, EVP_CIPHER*>;
    const std::lock_guard lock(mutex);
    EVP_CIPHER*& cipher = found[{mode, key_bytes}];
    if (cipher == nullptr) {
        const std::string name = "AES-" + std::to_string(8 * key_bytes) + "-" + (mode == "CFB128" ? "CFB" : mode);
        cipher = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
    }
    return cipher;
}

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

void require(int result) {
    if (result != 1) throw std::runtime_error("libcrypto refused what the test asked of it");
}

/// Returns this thread's CMAC context for keys of this length, ready for the next key.
EVP_MAC_CTX* cmac_context(std::size_t key_bytes) {
    using Mac = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;
    thread_local std::map<std::size_t, Mac> contexts;
    const auto found = contexts.find(key_bytes);
    if (found != contexts.end()) return found->second.get();
    EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "CMAC", nullptr);
    Mac made(EVP_MAC_CTX_new(mac), EVP_MAC_CTX_free);
    EVP_MAC_free(mac);
    std::string cipher = "AES-" + std::to_string(8 * key_bytes) + "-CBC";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher.data(), cipher.size()),
        OSSL_PARAM_construct_end()};
    require(EVP_MAC_CTX_set_params(made.get(), parameters));
    return contexts.emplace(key_bytes, std::move(made)).first->second.get();
}

}  // namespace

std::optional<Bytes> evp(const std::string& mode, bool encrypt, const Bytes& key, const Bytes& iv, const Bytes& in,
                         bool padding, std::optional<std::size_t> bits) {
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    require(EVP_CipherInit_ex(context.get(), find_cipher(mode, key.size()), nullptr, key.data(),
                              mode == "ECB" ? nullptr : iv.data(), encrypt ? 1 : 0));
    require(EVP_CIPHER_CTX_set_padding(context.get(), padding ? 1 : 0));
    if (bits) EVP_CIPHER_CTX_set_flags(context.get(), EVP_CIPH_FLAG_LENGTH_BITS);
    Bytes out(in.size() + 32);
    int updated = 0;
    int finished = 0;
    require(
        EVP_CipherUpdate(context.get(), out.data(), &updated, in.data(), static_cast<int>(bits ? *bits : in.size())));
    if (bits) {
        out.resize((*bits + 7) / 8);
        return out;
    }
    if (EVP_CipherFinal_ex(context.get(), out.data() + updated, &finished) != 1) return std::nullopt;
    out.resize(static_cast<std::size_t>(updated + finished));
    return out;
}

Bytes evp_gcm(const Bytes& key, const Bytes& iv, const Bytes& plaintext, const Bytes& aad) {
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    require(EVP_EncryptInit_ex(context.get(), find_cipher("GCM", key.size()), nullptr, nullptr, nullptr));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_IVLEN, static_cast<int>(iv.size()), nullptr));
    require(EVP_EncryptInit_ex(context.get(), nullptr, nullptr, key.data(), iv.data()));
    Bytes out(plaintext.size() + 16);
    int n = 0;
    require(EVP_EncryptUpdate(context.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())));
    require(EVP_EncryptUpdate(context.get(), out.data(), &n, plaintext.data(), static_cast<int>(plaintext.size())));
    require(EVP_EncryptFinal_ex(context.get(), out.data() + plaintext.size(), &n));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, 16, out.data() + plaintext.size()));
    return out;
}

Bytes evp_ccm(const Bytes& key, const Bytes& nonce, const Bytes& plaintext, const Bytes& aad, std::size_t tag_bytes) {
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    require(EVP_EncryptInit_ex(context.get(), find_cipher("CCM", key.size()), nullptr, nullptr, nullptr));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), nullptr));
    require(EVP_EncryptInit_ex(context.get(), nullptr, nullptr, key.data(), nonce.data()));
    Bytes out(plaintext.size() + tag_bytes);
    int n = 0;
    require(EVP_EncryptUpdate(context.get(), nullptr, &n, nullptr, static_cast<int>(plaintext.size())));
    if (!aad.empty()) {
        require(EVP_EncryptUpdate(context.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())));
    }
    // libcrypto interprets a null input as an announcement of the message's length.
    static constexpr std::uint8_t nothing = 0;
    require(EVP_EncryptUpdate(context.get(), out.data(), &n, plaintext.empty() ? &nothing : plaintext.data(),
                              static_cast<int>(plaintext.size())));
    require(EVP_EncryptFinal_ex(context.get(), out.data() + plaintext.size(), &n));
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes),
                                out.data() + plaintext.size()));
    return out;
}

Bytes evp_cmac(const Bytes& key, const Bytes& message) {
    EVP_MAC_CTX* const context = cmac_context(key.size());
    Bytes tag(16);
    std::size_t written = 0;
    require(EVP_MAC_init(context, key.data(), key.size(), nullptr));
    require(EVP_MAC_update(context, message.data(), message.size()));
    require(EVP_MAC_final(context, tag.data(), &written, tag.size()));
    require(written == tag.size() ? 1 : 0);
    return tag;
}

Bytes later_unit(Bytes number, std::uint64_t units) {
    std::uint64_t carry = 0;
    for (std::uint8_t& byte : number) {
        const std::uint64_t sum = byte + (units & 0xff) + carry;
        byte = static_cast<std::uint8_t>(sum);
        carry = sum >> 8;
        units >>= 8;
    }
    return number;
}

Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step) {
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    Bytes keys = key;
    keys.insert(keys.end(), tweak_key.begin(), tweak_key.end());
    require(EVP_CipherInit_ex(context.get(), find_cipher("XTS", key.size()), nullptr, keys.data(), nullptr,
                              encrypt ? 1 : 0));
    if (unit == 0) unit = in.size();
    Bytes out(in.size());
    Bytes here = number;
    for (std::size_t at = 0; at < in.size(); at += unit) {
        const auto bytes = static_cast<int>(std::min(unit, in.size() - at));
        int written = 0;
        require(EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, here.data(), -1));
        require(EVP_CipherUpdate(context.get(), out.data() + at, &written, in.data() + at, bytes));
        if (written != bytes) throw std::runtime_error("libcrypto wrote less than a data unit");
        here = later_unit(std::move(here), step);
    }
    return out;
}

Bytes crypt(const Message& m, bool encrypt) {
    if (m.text.empty()) return {};
    if (m.mode == "XTS") return xts(encrypt, m.key, m.tweak_key, m.iv, m.data_unit, m.text, m.unit_step);
    return *evp(m.mode, encrypt, m.key, m.iv, m.text, false, m.bits);
}

Sealed seal(const Message& m) {
    if (m.mode == "CMAC") {
        Bytes tag = evp_cmac(m.key, m.text);
        tag.resize(m.tag_bytes);
        return {m.text, tag};
    }
    const Bytes both =
        m.mode == "CCM" ? evp_ccm(m.key, m.iv, m.text, m.aad, m.tag_bytes) : evp_gcm(m.key, m.iv, m.text, m.aad);
    const auto middle = both.begin() + static_cast<std::ptrdiff_t>(m.text.size());
    return {Bytes(both.begin(), middle), Bytes(middle, middle + static_cast<std::ptrdiff_t>(m.tag_bytes))};
}

}  // namespace oracle
