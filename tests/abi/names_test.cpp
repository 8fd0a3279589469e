// Compares encrypted names with a second implementation, which uses libcrypto's HKDF, SIV as in RFC 5297, and base32hex
// bit by bit.
#include "warpaes/names.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>

#include "composed.hpp"

namespace abi_tests {
namespace {

Bytes bytes_in(const std::string& text) {
    return {text.begin(), text.end()};
}

Bytes derived(Bytes key) {
    std::string salt = "warpaes encrypted names, version 1", info = "AES-256-SIV";
    const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                            EVP_KDF_CTX_free);
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
                                     OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
                                     OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
                                     OSSL_PARAM_construct_end()};
    Bytes out(64);
    EXPECT_EQ(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters), 1);
    return out;
}

std::string base32hex(const Bytes& bytes) {
    std::string text;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 5) {
        unsigned digit = 0;
        for (std::size_t i = bit; i < bit + 5; ++i) {
            digit = 2 * digit + (i < 8 * bytes.size() ? bytes[i / 8] >> (7 - i % 8) & 1 : 0);
        }
        text += "0123456789abcdefghijklmnopqrstuv"[digit];
    }
    return text;
}

std::string expected(const Bytes& key, const std::string& folder, const std::string& name) {
    const Bytes both = derived(key);
    const Bytes sealed = oracle::siv({both.begin(), both.begin() + 32}, {both.begin() + 32, both.end()},
                                     {bytes_in("/" + folder)}, bytes_in(name));
    std::string text = base32hex(sealed), parts;
    for (; text.size() > 143; text.erase(0, 142)) parts.append(text, 0, 142).append("-/");
    return parts + text;
}

class Names : public testing::Test {
protected:
    struct Opened {
        warpaes_status status;
        std::string name;
        std::size_t index;
    };

    static warpaes_names* make(const Engine& engine, const std::vector<Bytes>& keys) {
        warpaes_keyset* all = nullptr;
        for (const Bytes& key : keys) {
            warpaes_keyset* keyset = nullptr;
            const char* name = key.size() == 16 ? "AES128_GCM_HKDF_4KB" : "AES256_CTR_HMAC_SHA256_1MB";
            EXPECT_EQ(warpaes_keyset_from_raw(name, key.data(), key.size(), &keyset), WARPAES_OK);
            if (all == nullptr) {
                all = keyset;
            } else {
                EXPECT_EQ(warpaes_keyset_append(all, keyset), WARPAES_OK);
                warpaes_keyset_destroy(keyset);
            }
        }
        warpaes_names* names = nullptr;
        EXPECT_EQ(warpaes_names_create(engine.get(), all, &names), WARPAES_OK) << warpaes_last_error();
        warpaes_keyset_destroy(all);
        return names;
    }

    ~Names() override { warpaes_names_destroy(names_); }

    [[nodiscard]] std::string encrypt(const std::string& folder, const std::string& name, std::size_t index = 0) const {
        char stored[WARPAES_STORED_NAME_BYTES];
        std::size_t length = 0;
        EXPECT_EQ(warpaes_names_encrypt(names_, index, folder.data(), folder.size(), name.data(), name.size(), stored,
                                        sizeof stored, &length),
                  WARPAES_OK)
            << warpaes_last_error();
        return {stored, length};
    }
    [[nodiscard]] Opened decrypt(const std::string& folder, const std::string& stored) const {
        char name[WARPAES_NAME_BYTES] = "untouched";
        std::size_t length = 99, index = 99;
        const warpaes_status status = warpaes_names_decrypt(names_, folder.data(), folder.size(), stored.data(),
                                                            stored.size(), name, sizeof name, &length, &index);
        if (status != WARPAES_OK) {
            EXPECT_EQ(length, 0U);
            EXPECT_EQ(std::string(name), "untouched");
        }
        return {status, std::string(name, length), index};
    }
    void refuses(const std::string& sentence, const std::string& folder, const std::string& name) const {
        char stored[WARPAES_STORED_NAME_BYTES];
        std::size_t length = 99;
        EXPECT_EQ(warpaes_names_encrypt(names_, 0, folder.data(), folder.size(), name.data(), name.size(), stored,
                                        sizeof stored, &length),
                  WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(warpaes_last_error(), sentence);
        EXPECT_EQ(length, 0U);
    }

    Random random_{5297};
    Engine engine_ = make_engine("libcrypto");
    std::vector<Bytes> keys_ = {random_.bytes(32), random_.bytes(16), random_.bytes(32)};
    warpaes_names* names_ = make(engine_, keys_);
};

TEST_F(Names, OfEveryLengthAgreeWithTheOracle) {
    EXPECT_EQ(warpaes_names_count(names_), 3U);
    for (const std::size_t bytes :
         {1, 2, 3, 4, 5, 6, 7, 31, 32, 72, 73, 74, 142, 143, 144, 161, 162, 163, 250, 255, 256, 1000, 1023, 1024}) {
        std::string name(bytes, 'x');
        for (char& c : name) c = static_cast<char>(1 + random_.below(255));
        std::replace(name.begin(), name.end(), '/', '_');
        if (name == ".") name = "a";
        for (const std::string folder : {"", "a", "photos/2024/raw", "\xc3\xa4/-"}) {
            for (std::size_t key = 0; key < keys_.size(); ++key) {
                const std::string stored = encrypt(folder, name, key);
                EXPECT_EQ(stored, expected(keys_[key], folder, name));
                const Opened opened = decrypt(folder, stored);
                EXPECT_EQ(opened.status, WARPAES_OK) << warpaes_last_error();
                EXPECT_EQ(opened.name, name);
                EXPECT_EQ(opened.index, key);
            }
        }
        const std::string stored = encrypt("", name);
        EXPECT_LE(stored.size(), std::size_t{WARPAES_STORED_NAME_BYTES});
        for (std::size_t at = 0, slash = 0; slash != std::string::npos; at = slash + 1) {
            slash = stored.find('/', at);
            EXPECT_LE((slash == std::string::npos ? stored.size() : slash) - at, 143U);
        }
    }
    EXPECT_EQ(encrypt("", std::string(1024, 'x')).size(), std::size_t{WARPAES_STORED_NAME_BYTES});
    EXPECT_EQ(encrypt("", std::string(73, 'x')).size(), 143U);
}

TEST_F(Names, BelongToTheirFolder) {
    const std::string stored = encrypt("a/b", "name");
    for (const std::string folder : {"", "a", "b", "a/b/c", "a/c", "A/b"})
        EXPECT_EQ(decrypt(folder, stored).status, WARPAES_ERROR_AUTHENTICATION) << folder;
    EXPECT_NE(encrypt("a", "name"), stored);
    EXPECT_EQ(encrypt("a/b", "name"), stored);
}

TEST_F(Names, EveryOtherCharacterIsRefused) {
    for (const std::size_t bytes : {1U, 2U, 3U, 4U, 5U, 80U, 200U}) {
        const std::string name(bytes, 'n'), stored = encrypt("folder", name);
        for (std::size_t i = 0; i < stored.size(); ++i) {
            for (int value = 0; value < 256; value += i < 40 ? 1 : 37) {
                std::string altered = stored;
                altered[i] = static_cast<char>(value);
                if (altered == stored) continue;
                const warpaes_status status = decrypt("folder", altered).status;
                EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT);
            }
            EXPECT_NE(decrypt("folder", stored.substr(0, i)).status, WARPAES_OK);
            EXPECT_NE(decrypt("folder", stored.substr(0, i) + stored.substr(i + 1)).status, WARPAES_OK);
            EXPECT_NE(decrypt("folder", stored.substr(0, i) + "0" + stored.substr(i)).status, WARPAES_OK);
            EXPECT_NE(decrypt("folder", stored.substr(0, i) + "-/" + stored.substr(i)).status, WARPAES_OK);
        }
        for (const char* more : {"0", "00", "=", "/", "-", "-/", ".", " "}) {
            EXPECT_NE(decrypt("folder", stored + more).status, WARPAES_OK);
            EXPECT_NE(decrypt("folder", std::string(more).append(stored)).status, WARPAES_OK);
        }
    }
    EXPECT_EQ(decrypt("", std::string(5000, '0')).status, WARPAES_ERROR_FORMAT);
}

TEST_F(Names, ThatLeadElsewhereAreRefusedInBothDirections) {
    const std::string nul("a\0b", 3);
    refuses("name: is empty", "", "");
    refuses("name: is '.' or '..'", "", ".");
    refuses("name: is '.' or '..'", "", "..");
    refuses("name: contains a '/'", "", "a/b");
    refuses("name: contains a NUL", "", nul);
    refuses("name: is longer than 1,024 bytes", "", std::string(1025, 'x'));
    refuses("folder: a name in it is empty", "/", "a");
    refuses("folder: a name in it is empty", "a/", "a");
    refuses("folder: a name in it is empty", "a//b", "a");
    refuses("folder: a name in it is '.' or '..'", "a/../b", "a");
    refuses("folder: a name in it contains a NUL", nul, "a");
    // These names are authentic but invalid. Only a holder of the key can create them.
    for (const std::string& name :
         {std::string("."), std::string(".."), std::string("../x"), std::string("/etc"), nul, std::string("\0", 1)}) {
        const Opened opened = decrypt("", expected(keys_[0], "", name));
        EXPECT_EQ(opened.status, WARPAES_ERROR_FORMAT);
        EXPECT_TRUE(std::string(warpaes_last_error()).starts_with("stored: the name in it ")) << warpaes_last_error();
    }
    EXPECT_EQ(decrypt("", base32hex(Bytes(16, 0))).status, WARPAES_ERROR_FORMAT);  // does not contain a name
}

TEST_F(Names, OtherKeysOpenNothing) {
    const std::string stored = encrypt("", "name");
    warpaes_names_destroy(names_);
    names_ = make(engine_, {random_.bytes(32)});
    EXPECT_EQ(decrypt("", stored).status, WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(
        warpaes_last_error(),
        std::string(
            "stored: no key opens this name in this folder; the keys are wrong, or the name was changed or moved"));
}

TEST_F(Names, SmallBuffersAndWrongArgumentsAreRefused) {
    char buffer[64];
    std::size_t length = 0;
    EXPECT_EQ(warpaes_names_encrypt(names_, 0, "", 0, "name", 4, buffer, 31, &length), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(length, 32U);
    EXPECT_EQ(std::string(warpaes_last_error()), "stored: needs 32 bytes, but the buffer has 31");
    EXPECT_EQ(warpaes_names_encrypt(names_, 3, "", 0, "name", 4, buffer, 64, &length), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(std::string(warpaes_last_error()), "index: 3 is beyond the last key");
    const std::string stored = encrypt("", "name");
    EXPECT_EQ(warpaes_names_decrypt(names_, "", 0, stored.data(), stored.size(), buffer, 3, &length, nullptr),
              WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(length, 4U);
    EXPECT_EQ(warpaes_names_decrypt(names_, "", 0, stored.data(), stored.size(), buffer, 4, &length, nullptr),
              WARPAES_OK);
    EXPECT_EQ(std::string(buffer, length), "name");
    warpaes_keyset* empty = nullptr;
    warpaes_names* made = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&empty), WARPAES_OK);
    EXPECT_EQ(warpaes_names_create(engine_.get(), empty, &made), WARPAES_ERROR_KEYSET);
    EXPECT_EQ(made, nullptr);
    warpaes_keyset_destroy(empty);
}

TEST_F(Names, NullPointers) {
    warpaes_names* made = nullptr;
    warpaes_keyset* keyset = nullptr;
    char buffer[64];
    std::size_t length = 0;
    const auto refused = [](const char* name, warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(std::string(warpaes_last_error()), std::string(name) + ": is null");
    };
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    refused("engine", warpaes_names_create(nullptr, keyset, &made));
    refused("keyset", warpaes_names_create(engine_.get(), nullptr, &made));
    refused("names", warpaes_names_create(engine_.get(), keyset, nullptr));
    warpaes_keyset_destroy(keyset);
    refused("names", warpaes_names_encrypt(nullptr, 0, "", 0, "n", 1, buffer, 64, &length));
    refused("folder", warpaes_names_encrypt(names_, 0, nullptr, 1, "n", 1, buffer, 64, &length));
    refused("name", warpaes_names_encrypt(names_, 0, "", 0, nullptr, 1, buffer, 64, &length));
    refused("stored", warpaes_names_encrypt(names_, 0, "", 0, "n", 1, nullptr, 64, &length));
    refused("length", warpaes_names_encrypt(names_, 0, "", 0, "n", 1, buffer, 64, nullptr));
    const std::string stored = encrypt("", "n");
    refused("names", warpaes_names_decrypt(nullptr, "", 0, stored.data(), stored.size(), buffer, 64, &length, nullptr));
    refused("folder",
            warpaes_names_decrypt(names_, nullptr, 1, stored.data(), stored.size(), buffer, 64, &length, nullptr));
    refused("stored", warpaes_names_decrypt(names_, "", 0, nullptr, 1, buffer, 64, &length, nullptr));
    refused("name", warpaes_names_decrypt(names_, "", 0, stored.data(), stored.size(), nullptr, 64, &length, nullptr));
    refused("length", warpaes_names_decrypt(names_, "", 0, stored.data(), stored.size(), buffer, 64, nullptr, nullptr));
    EXPECT_EQ(warpaes_names_count(nullptr), 0U);
    warpaes_names_destroy(nullptr);
}

}  // namespace
}  // namespace abi_tests
