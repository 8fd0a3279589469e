// Tests that updates that are long enough to be wiped leave no keys or texts in memory, in vector registers, or in a
// context's parameters.
#include <openssl/aes.h>

#include "../secrets/memory.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

/// Searches for the key schedules of `key`, which is 32 bytes for AES-256.
void look_for_round_keys(const std::uint8_t* key, const std::string& name) {
    AES_KEY schedule;
    for (const bool inverse : {false, true}) {
        (inverse ? AES_set_decrypt_key : AES_set_encrypt_key)(key, 256, &schedule);
        for (int round = 0; round <= schedule.rounds; ++round) {
            secrets::look_for({reinterpret_cast<std::uint8_t*>(schedule.rd_key + 4 * round), 16},
                              name + ", a round key");
        }
    }
}

/// Makes calls that set or copy a key and that no text follows, so that no kernel overwrites the registers afterwards.
TEST(ProviderSecrets, NothingIsLeftOfAKeyWithoutText) {
    const Library library("cbc = yes\n");
    ASSERT_TRUE(library.loaded());
    unsigned number = 100;
    for (const char* const mode :
         {"ECB", "CBC", "CFB", "CFB8", "OFB", "CTR", "XTS", "GCM", "CCM", "SIV", "GCM-SIV", "WRAP"}) {
        for (const bool encrypt : {true, false}) {
            for (const bool copies : {false, true}) {
                if (copies && std::strcmp(mode, "SIV") == 0) continue;  // OpenSSL 3.0 does not copy it
                const std::string name = std::string("AES-256-") + mode;
                const auto cipher = library.cipher(name);
                ASSERT_NE(cipher, nullptr) << name;
                std::uint8_t* const key = secrets::own(64);
                ++number;
                ASSERT_TRUE(secrets::apart([&] {
                    std::mt19937 engine(number);
                    for (std::size_t i = 0; i < 64; ++i) key[i] = static_cast<std::uint8_t>(engine());
                    look_for_round_keys(key, name);
                    look_for_round_keys(key + 32, name);
                }));
                secrets::watch_frees(true);
                secrets::Caller caller;
                bool taken = false;
                caller.call([&] {
                    EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
                    if (std::strcmp(mode, "WRAP") == 0) EVP_CIPHER_CTX_set_flags(c, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
                    const unsigned char iv[16] = {1, 2, 3};
                    taken = EVP_CipherInit_ex2(c, cipher.get(), key, iv, encrypt ? 1 : 0, nullptr) == 1;
                    EVP_CIPHER_CTX* const copy = EVP_CIPHER_CTX_new();
                    if (copies) taken = taken && EVP_CIPHER_CTX_copy(copy, c) == 1;
                    EVP_CIPHER_CTX_free(copy);
                    EVP_CIPHER_CTX_free(c);
                });
                secrets::watch_frees(false);
                EXPECT_TRUE(taken) << name;
                for (const std::string& finding : secrets::findings()) {
                    ADD_FAILURE() << name << (encrypt ? ", encryption" : ", decryption")
                                  << (copies ? ", copied: " : ": ") << finding;
                }
            }
        }
    }
}

TEST(ProviderSecrets, NothingIsLeftOfKeysAndTexts) {
    const Library library("cbc = yes\n");
    ASSERT_TRUE(library.loaded());
    constexpr std::size_t bytes = 4096, odd = 5;  // `odd` is the number of bytes that one kernel leaves to another
    unsigned number = 0;
    for (const char* const mode :
         {"ECB", "CBC", "CFB", "CFB8", "OFB", "CTR", "XTS", "GCM", "CCM", "SIV", "GCM-SIV", "WRAP"}) {
        for (const bool encrypt : {true, false}) {
            const std::string name = std::string("AES-256-") + mode;
            // For some modes, decryption only sets the key, because it would need authentic text.
            const bool opens = std::strcmp(mode, "CCM") != 0 && std::strcmp(mode, "SIV") != 0 &&
                               std::strcmp(mode, "GCM-SIV") != 0 && std::strcmp(mode, "WRAP") != 0;
            const auto cipher = library.cipher(name);
            ASSERT_NE(cipher, nullptr) << name;
            const auto key_bytes = static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher.get()));
            std::uint8_t* const key = secrets::own(64);
            std::uint8_t* const text = secrets::own(bytes + odd);
            std::uint8_t* const out = secrets::own(bytes + 64);
            ++number;
            ASSERT_TRUE(secrets::apart([&] {
                std::mt19937 engine(number);
                for (std::size_t i = 0; i < 64; ++i) key[i] = static_cast<std::uint8_t>(engine());
                for (std::size_t i = 0; i < bytes + odd; ++i) text[i] = static_cast<std::uint8_t>(engine());
                for (std::size_t half = 0; half < key_bytes; half += 32) look_for_round_keys(key + half, name);
                for (std::size_t at = 0; at < bytes; at += 64) secrets::look_for({text + at, 16}, name + ", text");
            }));
            secrets::watch_frees(true);
            secrets::Caller caller;
            const bool blocks =
                EVP_CIPHER_get_block_size(cipher.get()) != 1 || EVP_CIPHER_get_mode(cipher.get()) == EVP_CIPH_WRAP_MODE;
            const int length = bytes + (blocks ? 0 : odd);
            int updated = 0;
            caller.call([&] {
                EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
                if (std::strcmp(mode, "WRAP") == 0) EVP_CIPHER_CTX_set_flags(c, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
                const unsigned char iv[16] = {1, 2, 3};
                int n = 0;
                (void)EVP_CipherInit_ex2(c, cipher.get(), key, iv, encrypt ? 1 : 0, nullptr);
                (void)EVP_CIPHER_CTX_set_padding(c, 0);
                updated = EVP_CipherUpdate(c, out, &n, text, length);
                EVP_CIPHER_CTX_free(c);
            });
            secrets::watch_frees(false);
            EXPECT_EQ(updated == 1, encrypt || opens) << name;
            for (const std::string& finding : secrets::findings()) ADD_FAILURE() << name << encrypt << ": " << finding;
        }
    }
}

/// Passes associated data in pieces. A context collects them if it needs all associated data at once.
TEST(ProviderSecrets, NothingIsLeftOfAssociatedData) {
    const Library library("cbc = yes\n");
    ASSERT_TRUE(library.loaded());
    constexpr std::size_t piece = 1000, pieces = 20;
    std::uint8_t* const key = secrets::own(64);
    std::uint8_t* const out = secrets::own(64);
    for (const char* const mode : {"GCM", "CCM", "SIV", "GCM-SIV"}) {
        const std::string name = std::string("AES-256-") + mode;
        const auto cipher = library.cipher(name);
        ASSERT_NE(cipher, nullptr) << name;
        std::uint8_t* const aad = secrets::own(piece * pieces);
        ASSERT_TRUE(secrets::apart([&] {
            std::mt19937 engine(7);
            for (std::size_t i = 0; i < piece * pieces; ++i) aad[i] = static_cast<std::uint8_t>(engine());
            for (std::size_t at = 0; at + 16 < piece * pieces; at += 100) {
                secrets::look_for({aad + at, 16}, name + ", associated data");
            }
        }));
        secrets::watch_frees(true);
        secrets::Caller caller;
        int updated = 0;
        caller.call([&] {
            EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
            const unsigned char iv[16] = {1, 2, 3};
            int n = 0;
            (void)EVP_CipherInit_ex2(c, cipher.get(), key, iv, 1, nullptr);
            for (std::size_t i = 0; i < pieces; ++i) {
                updated += EVP_CipherUpdate(c, nullptr, &n, aad + i * piece, piece);
                // An allocation after the block prevents the block from growing in place.
                std::free(std::malloc(piece * (i + 1)));
            }
            EVP_CIPHER_CTX* const copy = EVP_CIPHER_CTX_new();
            if (std::strcmp(mode, "SIV") != 0) (void)EVP_CIPHER_CTX_copy(copy, c);
            (void)EVP_CipherUpdate(c, out, &n, out, 16);
            EVP_CIPHER_CTX_free(copy);
            EVP_CIPHER_CTX_free(c);
        });
        secrets::watch_frees(false);
        if (std::strcmp(mode, "CCM") != 0) {  // CCM accepts associated data only in one update
            EXPECT_EQ(updated, static_cast<int>(pieces)) << name;
        }
        for (const std::string& finding : secrets::findings()) ADD_FAILURE() << name << ": " << finding;
    }
}

}  // namespace
}  // namespace warpaes::test
