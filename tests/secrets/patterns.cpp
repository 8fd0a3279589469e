#include "patterns.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "aes/ghash.hpp"
#include "aes/key_schedule.hpp"
#include "memory.hpp"

namespace secrets {

namespace {

using warpaes::Block;

void require(bool ok) {
    if (!ok) std::abort();
}

Block encrypted(Bytes key, const std::vector<std::uint8_t>& block) {
    Block out{};
    int n = 0;
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    const EVP_CIPHER* const cipher = key.size() == 16   ? EVP_aes_128_ecb()
                                     : key.size() == 24 ? EVP_aes_192_ecb()
                                                        : EVP_aes_256_ecb();
    require(EVP_EncryptInit_ex(context, cipher, nullptr, key.data(), nullptr) == 1 &&
            EVP_EncryptUpdate(context, out.data(), &n, block.data(), 16) == 1 && n == 16);
    EVP_CIPHER_CTX_free(context);
    return out;
}

/// Adds the element in every byte order that is used to store field elements.
void look_for_element(const Block& block, const std::string& name) {
    look_for(block, name);
    Block turned = block;
    std::reverse(turned.begin(), turned.end());
    look_for(turned, name + " reversed");
    std::rotate(turned.begin(), turned.begin() + 8, turned.end());
    look_for(turned, name + " as two words");
}

}  // namespace

void look_for_bytes(Bytes secret, const std::string& name) {
    for (std::size_t at = 0; at + 16 <= secret.size(); at += 8) look_for(secret.subspan(at, 16), name);
}

void look_for_text(Bytes period, const std::string& name) {
    std::vector<std::uint8_t> twice(period.begin(), period.end());
    twice.insert(twice.end(), period.begin(), period.end());
    for (std::size_t i = 0; i < period.size(); ++i) look_for(Bytes(twice).subspan(i, 16), name);
}

void look_for_key(Bytes key, const std::string& name, const std::vector<std::vector<std::uint8_t>>& blocks) {
    const int rounds = warpaes::rounds_for_key_bytes(key.size());
    const warpaes::RoundKeys encrypt = warpaes::expand_key(key);
    const warpaes::RoundKeys decrypt = warpaes::invert_round_keys(encrypt, rounds);
    const auto look_for_keys = [&](const warpaes::RoundKeys& keys, const std::string& what) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(keys.words.data());
        for (int r = 0; r <= rounds; ++r) {
            look_for({bytes + 16 * r, 16}, name + what + std::to_string(r));
        }
    };
    look_for_bytes(key, name);
    look_for_keys(encrypt, ": round key ");
    look_for_keys(decrypt, ": inverse round key ");
    const warpaes::HashKey hash =
        warpaes::make_hash_key(warpaes::load_element(encrypted(key, std::vector<std::uint8_t>(16))));
    for (const std::size_t power : {1, 2, 3, 4, 8, 16, 32, 64}) {
        const std::string what = name + ": H^" + std::to_string(power);
        look_for_element(warpaes::store_element(hash.powers[power - 1]), what);
        look_for_element(warpaes::store_element(warpaes::divided_by_x(hash.powers[power - 1])), what + " / x");
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        look_for_element(encrypted(key, blocks[i]), name + ": E(K, block " + std::to_string(i) + ")");
    }
}

void look_for_digests(Bytes key, Bytes iv, std::uint64_t text_bytes, Bytes tag, const std::string& name) {
    using warpaes::FieldElement;
    std::vector<std::uint8_t> j0(iv.begin(), iv.begin() + 12);
    j0.insert(j0.end(), {0, 0, 0, 1});
    const FieldElement h = warpaes::load_element(encrypted(key, std::vector<std::uint8_t>(16)));
    const Block mask = encrypted(key, j0);
    Block whole{};
    std::copy_n(tag.begin(), 16, whole.begin());
    const FieldElement digest = warpaes::load_element(whole) ^ warpaes::load_element(mask);
    const FieldElement of_text = warpaes::multiply(digest, warpaes::inverse(h)) ^ warpaes::length_block(0, text_bytes);
    look_for_element(mask, name + ": E(K, J0)");
    look_for_element(warpaes::store_element(digest), name + ": digest");
    look_for_element(warpaes::store_element(of_text), name + ": digest of the text");
    look_for_element(whole, name + ": tag");
}

void look_for_digest(Bytes key, Bytes stretch, const std::string& name) {
    warpaes::FieldElement digest;
    warpaes::hash_blocks(warpaes::load_element(encrypted(key, std::vector<std::uint8_t>(16))), stretch.data(),
                         stretch.size(), digest);
    look_for_element(warpaes::store_element(digest), name + ": digest of a stretch");
}

std::vector<std::uint8_t> from_passphrase(std::string_view passphrase, Bytes salt, int rounds, std::size_t bytes) {
    std::vector<std::uint8_t> key(bytes);
    if (rounds != 0) {
        require(PKCS5_PBKDF2_HMAC(passphrase.data(), static_cast<int>(passphrase.size()), salt.data(),
                                  static_cast<int>(salt.size()), rounds, EVP_sha256(), static_cast<int>(bytes),
                                  key.data()) == 1);
        return key;
    }
    std::array<std::uint8_t, 32> whole{};
    std::array<std::uint8_t, 16> iv{};
    require(EVP_BytesToKey(EVP_aes_256_cbc(), EVP_sha256(), salt.data(),
                           reinterpret_cast<const unsigned char*>(passphrase.data()),
                           static_cast<int>(passphrase.size()), 1, whole.data(), iv.data()) == 32);
    std::copy_n(whole.begin(), std::min<std::size_t>(32, bytes), key.begin());
    return key;
}

std::vector<std::uint8_t> hkdf(const char* digest, bool expand_only, Bytes key, Bytes salt, Bytes info,
                               std::size_t bytes) {
    std::vector<std::uint8_t> out(bytes);
    EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
    EVP_KDF_CTX* const context = EVP_KDF_CTX_new(kdf);
    int mode = expand_only ? EVP_KDF_HKDF_MODE_EXPAND_ONLY : EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
    std::vector<OSSL_PARAM> parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(digest), 0),
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode)};
    const auto add = [&](const char* name, Bytes b) {
        if (b.empty()) return;
        parameters.push_back(OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(b.data()), b.size()));
    };
    add(OSSL_KDF_PARAM_KEY, key);
    add(OSSL_KDF_PARAM_SALT, salt);
    add(OSSL_KDF_PARAM_INFO, info);
    parameters.push_back(OSSL_PARAM_construct_end());
    require(EVP_KDF_derive(context, out.data(), bytes, parameters.data()) == 1);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return out;
}

}  // namespace secrets
