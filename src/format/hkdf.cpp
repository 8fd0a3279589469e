#include "format/hkdf.hpp"

#include <openssl/core_names.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "base/error.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"

namespace warpaes {

namespace {

const char* digest_name(Hash hash) {
    static constexpr std::array names{"SHA1", "SHA2-384", "SHA2-256", "SHA2-512", "SHA2-224"};  // by value
    const auto index = static_cast<std::size_t>(hash) - 1;
    if (index < names.size()) return names[index];
    throw Error(WARPAES_ERROR_KEYSET, "keyset: a key names an unknown hash");
}

void require(bool ok, const char* call) {
    if (!ok) throw Error(WARPAES_ERROR_INTERNAL, std::string("libcrypto: ") + call + " failed");
}

/// The algorithm is fetched only once and kept for the lifetime of the process.
EVP_MAC* hmac() {
    static EVP_MAC* const mac = EVP_MAC_fetch(library_context(), "HMAC", nullptr);
    require(mac != nullptr, "EVP_MAC_fetch");
    return mac;
}

}  // namespace

Hmac::Hmac(Hash hash, std::span<const std::uint8_t> key) : context_(EVP_MAC_CTX_new(hmac()), &EVP_MAC_CTX_free) {
    if (context_ == nullptr) throw std::bad_alloc();
    note_stack_depth(libcrypto_stack);
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, const_cast<char*>(digest_name(hash)), 0),
        OSSL_PARAM_construct_end()};
    require(EVP_MAC_init(context_.get(), key.data(), key.size(), parameters) == 1, "EVP_MAC_init");
    bytes_ = EVP_MAC_CTX_get_mac_size(context_.get());
    require(bytes_ != 0 && bytes_ <= most_bytes, "EVP_MAC_CTX_get_mac_size");
}

Hmac::Hmac(const Hmac& other)
    : context_(EVP_MAC_CTX_dup(other.context_.get()), &EVP_MAC_CTX_free), bytes_(other.bytes_) {
    if (context_ == nullptr) throw std::bad_alloc();
}

void Hmac::compute(std::initializer_list<std::span<const std::uint8_t>> parts, std::span<std::uint8_t> mac) {
    require(EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1, "EVP_MAC_init");
    for (const auto part : parts) {
        require(EVP_MAC_update(context_.get(), part.data(), part.size()) == 1, "EVP_MAC_update");
    }
    Secret<std::array<std::uint8_t, most_bytes>> whole;
    std::size_t length = 0;
    require(EVP_MAC_final(context_.get(), whole->data(), &length, whole->size()) == 1, "EVP_MAC_final");
    std::copy_n(whole->begin(), std::min(mac.size(), length), mac.begin());
}

SecretVector hkdf_expand(Hash hash, std::span<const std::uint8_t> prk,
                         std::initializer_list<std::span<const std::uint8_t>> info, std::size_t length) {
    std::vector<std::uint8_t> joined;
    for (const auto part : info) joined.insert(joined.end(), part.begin(), part.end());
    Hmac mac(hash, prk);
    Secret<std::array<std::uint8_t, Hmac::most_bytes>> block;
    SecretVector bytes(length);
    std::uint8_t counter = 0;
    for (std::size_t at = 0; at < length; at += mac.bytes()) {
        ++counter;
        const auto before = std::span(*block).first(at == 0 ? 0 : mac.bytes());
        mac.compute({before, joined, {&counter, 1}}, *block);
        std::copy_n(block->begin(), std::min(mac.bytes(), length - at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return bytes;
}

SecretVector hkdf(Hash hash, std::span<const std::uint8_t> key, std::span<const std::uint8_t> salt,
                  std::span<const std::uint8_t> info, std::size_t length) {
    Hmac mac(hash, salt);
    Secret<std::array<std::uint8_t, Hmac::most_bytes>> prk;
    mac.compute({key}, *prk);
    return hkdf_expand(hash, std::span(*prk).first(mac.bytes()), {info}, length);
}

}  // namespace warpaes
