// Tests cases that the random sequences do not cover: random IVs, refused calls, modes that OpenSSL 3.0 lacks, several
// threads, and TLS records in CBC.
#include "support.hpp"

namespace warpaes::test {
namespace {

bool set(EVP_CIPHER_CTX* c, int control, int n, const void* data) {
    return EVP_CIPHER_CTX_ctrl(c, control, n, const_cast<void*>(data)) == 1;
}

Bytes from_hex(const std::string& text) {
    Bytes bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        bytes.push_back(static_cast<unsigned char>(std::stoi(text.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

TEST(ProviderCipher, GcmTakesARandomIvIfThereIsNone) {
    const Library library;
    const auto cipher = library.cipher("AES-256-GCM");
    ASSERT_NE(cipher, nullptr);
    const Bytes key = key_for(cipher.get()), text = random_bytes(77);
    Bytes ivs[2];
    for (Bytes& iv : ivs) {
        const CipherContext c = started(cipher.get(), true, key, {});
        unsigned char none[16];
        EXPECT_EQ(0, EVP_CIPHER_CTX_get_original_iv(c.get(), none, 12));  // there is no IV yet
        const Bytes sealed = updated(c.get(), text);
        int n = 0;
        EXPECT_EQ(1, EVP_CipherFinal_ex(c.get(), none, &n));
        Bytes tag(16);
        EXPECT_TRUE(set(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
        iv.resize(12);
        EXPECT_EQ(1, EVP_CIPHER_CTX_get_original_iv(c.get(), iv.data(), iv.size()));
        const CipherContext back = started(cipher.get(), false, key, iv);
        EXPECT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()));
        EXPECT_EQ(updated(back.get(), sealed), text);
        EXPECT_EQ(1, EVP_CipherFinal_ex(back.get(), none, &n));
        // An IV is valid for only one message.
        EXPECT_EQ(0, EVP_CipherUpdate(c.get(), none, &n, text.data(), 1));
    }
    EXPECT_NE(ivs[0], ivs[1]);
}

TEST(ProviderCipher, TheEndOfAFixedIvIsRandom) {
    const Library library;
    const auto cipher = library.cipher("AES-128-GCM");
    ASSERT_NE(cipher, nullptr);
    const Bytes key = key_for(cipher.get()), fixed = random_bytes(4);
    Bytes ivs[2];
    for (Bytes& iv : ivs) {
        const CipherContext c = started(cipher.get(), true, key, {});
        ASSERT_TRUE(set(c.get(), EVP_CTRL_AEAD_SET_IV_FIXED, 4, fixed.data()));
        iv.resize(12);
        ASSERT_TRUE(set(c.get(), EVP_CTRL_GCM_IV_GEN, 12, iv.data()));
        EXPECT_TRUE(std::equal(fixed.begin(), fixed.end(), iv.begin()));
        // The next IV is the previous IV plus one.
        Bytes next(12);
        ASSERT_TRUE(set(c.get(), EVP_CTRL_GCM_IV_GEN, 12, next.data()));
        Bytes expected = iv;
        for (std::size_t i = 12; i-- > 4 && ++expected[i] == 0;) {
        }
        EXPECT_EQ(next, expected);
    }
    EXPECT_NE(ivs[0], ivs[1]);
}

TEST(ProviderCipher, AKeyForAMessageThatHasBegunEndsIt) {
    const Library library;
    const auto cipher = library.cipher("AES-128-GCM");
    ASSERT_NE(cipher, nullptr);
    const Bytes key = key_for(cipher.get());
    const CipherContext c = started(cipher.get(), true, key, random_bytes(12));
    (void)updated(c.get(), key);
    ASSERT_EQ(1, EVP_CipherInit_ex2(c.get(), nullptr, key.data(), nullptr, 1, nullptr));
    unsigned char out[16];
    int n = 0;
    EXPECT_EQ(0, EVP_CipherUpdate(c.get(), out, &n, key.data(), 16));
}

TEST(ProviderCipher, BuffersThatOverlapInPartAreRefused) {
    const Library library("cbc = yes\n");
    for (const char* const name : {"ECB", "CBC", "CFB", "CFB8", "CFB1", "OFB", "CTR", "GCM", "CCM", "XTS", "SIV"}) {
        const auto cipher = library.cipher(std::string("AES-128-") + name);
        ASSERT_NE(cipher, nullptr) << name;
        for (const int shift : {-48, -16, -1, 1, 15, 16, 63}) {
            const CipherContext c = started(cipher.get(), true, key_for(cipher.get()), random_bytes(16));
            Bytes buffer = random_bytes(256);
            const Bytes before = buffer;
            int n = 0;
            ERR_clear_error();
            EXPECT_LE(EVP_CipherUpdate(c.get(), buffer.data() + 64 + shift, &n, buffer.data() + 64, 64), 0) << name;
            EXPECT_EQ(buffer, before) << name;
            EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), EVP_R_PARTIALLY_OVERLAPPING) << name << shift;
        }
    }
}

/// Checks messages in RFC 8452, appendices C.1 and C.2, for AES-128 and AES-256 with associated data.
TEST(ProviderCipher, GcmSivIsThatOfTheStandard) {
    struct Vector {
        const char *cipher, *key, *nonce, *aad, *text, *sealed;
    };
    const Vector vectors[] = {
        {"AES-128-GCM-SIV", "01000000000000000000000000000000", "030000000000000000000000", "", "",
         "dc20e2d83f25705bb49e439eca56de25"},
        {"AES-128-GCM-SIV", "01000000000000000000000000000000", "030000000000000000000000", "", "0100000000000000",
         "b5d839330ac7b786578782fff6013b815b287c22493a364c"},
        {"AES-128-GCM-SIV", "01000000000000000000000000000000", "030000000000000000000000", "01", "0200000000000000",
         "1e6daba35669f4273b0a1a2560969cdf790d99759abd1508"},
        {"AES-256-GCM-SIV", "0100000000000000000000000000000000000000000000000000000000000000",
         "030000000000000000000000", "", "0100000000000000", "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28"},
    };
    const Library library;
    for (const Vector& v : vectors) {
        const auto cipher = library.cipher(v.cipher);
        ASSERT_NE(cipher, nullptr);
        const Bytes key = from_hex(v.key), nonce = from_hex(v.nonce), aad = from_hex(v.aad), text = from_hex(v.text),
                    sealed = from_hex(v.sealed);
        CipherContext c = started(cipher.get(), true, key, nonce);
        int n = 0;
        if (!aad.empty()) {
            EXPECT_EQ(1, EVP_CipherUpdate(c.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())));
        }
        // A copy continues independently of the original.
        CipherContext copy(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        ASSERT_EQ(1, EVP_CIPHER_CTX_copy(copy.get(), c.get()));
        c = std::move(copy);
        Bytes made = text.empty() ? Bytes{} : updated(c.get(), text), tag(16);
        EXPECT_EQ(1, EVP_CipherFinal_ex(c.get(), tag.data(), &n));
        EXPECT_TRUE(set(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
        made.insert(made.end(), tag.begin(), tag.end());
        EXPECT_EQ(made, sealed) << v.cipher << " " << v.text;

        for (const bool right : {true, false}) {
            if (!right) tag[3] ^= 1;
            const CipherContext back = started(cipher.get(), false, key, nonce);
            EXPECT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()));
            if (!aad.empty()) {
                EXPECT_EQ(1, EVP_CipherUpdate(back.get(), nullptr, &n, aad.data(), static_cast<int>(aad.size())));
            }
            Bytes out(text.size() + 16);
            bool opened = true;
            if (!text.empty()) {
                opened =
                    EVP_CipherUpdate(back.get(), out.data(), &n, sealed.data(), static_cast<int>(text.size())) == 1;
            }
            opened = EVP_CipherFinal_ex(back.get(), out.data() + text.size(), &n) == 1 && opened;
            EXPECT_EQ(opened, right);
            out.resize(text.size());
            EXPECT_EQ(out == text, right || text.empty());
        }
    }
}

/// The tag of an empty text must not authenticate a message whose text was refused.
TEST(ProviderCipher, GcmSivThatHasFailedDoesNotEndWell) {
    const Library library;
    const auto cipher = library.cipher("AES-128-GCM-SIV");
    ASSERT_NE(cipher, nullptr);
    const Bytes key = key_for(cipher.get()), nonce = random_bytes(12), text = random_bytes(33);
    Bytes out(64), tag(16);
    int n = 0;
    const CipherContext c = started(cipher.get(), true, key, nonce);
    ASSERT_EQ(1, EVP_CipherFinal_ex(c.get(), out.data(), &n));
    ASSERT_TRUE(set(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
    const CipherContext back = started(cipher.get(), false, key, nonce);
    ASSERT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()));
    EXPECT_LE(EVP_CipherUpdate(back.get(), out.data(), &n, text.data(), 33), 0);
    EXPECT_EQ(0, EVP_CipherFinal_ex(back.get(), out.data(), &n));
}

/// Tests for CVE-2026-45446 and similar faults. With every release of OpenSSL, a message without text has a tag, and
/// the provider compares it.
TEST(ProviderCipher, EmptyMessagesAreAuthenticated) {
    const Library library;
    for (const char* const name : {"AES-128-GCM", "AES-128-CCM", "AES-128-GCM-SIV"}) {
        const auto cipher = library.cipher(name);
        ASSERT_NE(cipher, nullptr);
        const bool ccm = std::strcmp(name, "AES-128-CCM") == 0;
        const int tag_bytes = ccm ? 12 : 16;
        const Bytes key = key_for(cipher.get()), iv = random_bytes(16), aad = random_bytes(20);
        for (const bool with_aad : {false, true}) {
            for (const bool one_shot : {false, true}) {
                unsigned char none[16];
                int n = 0;
                const auto end = [&](EVP_CIPHER_CTX* c) {
                    if (ccm) {
                        EXPECT_EQ(1, EVP_CipherUpdate(c, nullptr, &n, nullptr, 0));
                    }
                    if (with_aad) {
                        EXPECT_EQ(1, EVP_CipherUpdate(c, nullptr, &n, aad.data(), 20));
                    }
                    return one_shot ? EVP_Cipher(c, none, nullptr, 0) == 0 : EVP_CipherFinal_ex(c, none, &n) == 1;
                };
                Bytes tag(16);
                const CipherContext c = started(cipher.get(), true, key, iv);
                EXPECT_TRUE(end(c.get())) << name;
                ASSERT_TRUE(set(c.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag.data())) << name;
                for (const bool right : {true, false}) {
                    if (!right) tag[5] ^= 1;
                    const CipherContext back = started(cipher.get(), false, key, {});
                    ASSERT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()));
                    EXPECT_EQ(1, EVP_CipherInit_ex2(back.get(), nullptr, key.data(), iv.data(), 0, nullptr));
                    if (!ccm) {
                        ASSERT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()));
                    }
                    EXPECT_EQ(end(back.get()), right) << name << with_aad << one_shot;
                }
            }
        }
    }
}

/// Earlier authentic data must not make the provider accept a wrong tag, a second text, or a missing message.
TEST(ProviderCipher, SivThatHasFailedDoesNotEndWell) {
    const Library library;
    const auto cipher = library.cipher("AES-128-SIV");
    ASSERT_NE(cipher, nullptr);
    const Bytes key = key_for(cipher.get()), text = random_bytes(33);
    Bytes tag(16), out(64);
    int n = 0;
    const CipherContext c = started(cipher.get(), true, key, {});
    const Bytes sealed = updated(c.get(), text);
    ASSERT_TRUE(set(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
    const CipherContext back = started(cipher.get(), false, key, {});
    ASSERT_TRUE(set(back.get(), EVP_CTRL_SET_SPEED, 1, nullptr));
    ASSERT_TRUE(set(back.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()));
    EXPECT_EQ(updated(back.get(), sealed), text);
    EXPECT_EQ(1, EVP_CipherFinal_ex(back.get(), out.data(), &n));
    Bytes forged = sealed;
    forged[0] ^= 1;
    EXPECT_LE(EVP_CipherUpdate(back.get(), out.data(), &n, forged.data(), 33), 0);
    EXPECT_EQ(0, EVP_CipherFinal_ex(back.get(), out.data(), &n));
    EXPECT_EQ(updated(back.get(), sealed), text);
    // The next message has no text so far.
    ASSERT_EQ(1, EVP_CipherInit_ex2(back.get(), nullptr, nullptr, nullptr, 0, nullptr));
    EXPECT_EQ(0, EVP_CipherFinal_ex(back.get(), out.data(), &n));
}

/// A parameter whose data pointer is null must be refused. The default provider would read from that pointer.
TEST(ProviderCipher, ParametersWithoutDataAreRefused) {
    const Library library;
    for (const char* const name : {"AES-128-GCM", "AES-128-CCM"}) {
        const auto cipher = library.cipher(name);
        ASSERT_NE(cipher, nullptr);
        const CipherContext c = started(cipher.get(), true, key_for(cipher.get()), random_bytes(12));
        for (const auto& [key, bytes] : {std::pair<const char*, std::size_t>{OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, 13},
                                         {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, 4},
                                         {OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, 8}}) {
            const OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(key, nullptr, bytes),
                                         OSSL_PARAM_construct_end()};
            // CCM does not support the last parameter.
            const bool known = std::strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV) != 0 || name[8] == 'G';
            EXPECT_EQ(EVP_CIPHER_CTX_set_params(c.get(), params), known ? 0 : 1) << name << " " << key;
        }
    }
}

/// Tests the parameter "iv-generated", which OpenSSL supports since 3.4.
TEST(ProviderCipher, GcmSaysWhetherItsIvIsRandom) {
    const Library library;
    const auto cipher = library.cipher("AES-128-GCM");
    ASSERT_NE(cipher, nullptr);
    for (const bool random : {false, true}) {
        const CipherContext c = started(cipher.get(), true, key_for(cipher.get()), random ? Bytes{} : random_bytes(12));
        (void)updated(c.get(), Bytes(16));
        unsigned value = 7;
        OSSL_PARAM params[] = {OSSL_PARAM_construct_uint("iv-generated", &value), OSSL_PARAM_construct_end()};
        EXPECT_EQ(1, EVP_CIPHER_CTX_get_params(c.get(), params));
        EXPECT_EQ(value, random ? 1u : 0u);
    }
}

/// The engine processes long updates, with the same results. A long XTS update is a single data unit, which one thread
/// processes.
TEST(ProviderCipher, SeveralThreadsGiveTheSame) {
    const Library library("cbc = yes\nthreads = 3\nthreshold = 64K\n");
    ASSERT_TRUE(library.loaded());
    struct Case {
        const char* mode;
        bool encrypt;
        const char* counter;
    };
    const Case cases[] = {{"ECB", true, "ecb"},  {"ECB", false, "ecb"},  {"CBC", false, "cbc"}, {"CFB", false, "cfb"},
                          {"CTR", true, "ctr"},  {"XTS", true, "xts"},   {"XTS", false, "xts"}, {"GCM", true, "gcm"},
                          {"GCM", false, "gcm"}, {"CFB8", false, "cfb8"}};
    for (const Case& t : cases) {
        const std::string name = std::string("AES-256-") + t.mode;
        const auto ours = library.cipher(name), theirs = library.cipher(name, "default");
        ASSERT_TRUE(ours && theirs) << name;
        const bool blocks = EVP_CIPHER_get_block_size(ours.get()) == 16, xts = std::string(t.mode) == "XTS";
        const std::string counted = std::string("warpaes-") + t.counter + (xts ? "-kernels-bytes" : "-threads-bytes");
        const std::uint64_t before = counter(library, counted);
        const Bytes key = key_for(ours.get()), iv = random_bytes(16);
        const CipherContext a = started(theirs.get(), t.encrypt, key, iv), b = started(ours.get(), t.encrypt, key, iv);
        for (const std::size_t odd : {0, 5, 11}) {
            const Bytes text = random_bytes((8u << 20) + (blocks ? 0 : odd), 3);
            const Bytes expected = updated(a.get(), text), made = updated(b.get(), text);
            ASSERT_TRUE(made == expected) << name << (t.encrypt ? " encryption" : " decryption") << odd;
            // The update runs in place.
            Bytes in_place = text;
            int n = 0;
            ASSERT_EQ(1,
                      EVP_CipherUpdate(b.get(), in_place.data(), &n, in_place.data(), static_cast<int>(text.size())));
            // An XTS data unit does not continue an earlier data unit.
            ASSERT_TRUE((xts ? expected : updated(a.get(), text)) == in_place) << name;
        }
        if (std::string(t.mode) == "GCM" && t.encrypt) {
            unsigned char none[16];
            Bytes ta(16), tb(16);
            int n = 0;
            EXPECT_EQ(1, EVP_CipherFinal_ex(a.get(), none, &n));
            EXPECT_EQ(1, EVP_CipherFinal_ex(b.get(), none, &n));
            EXPECT_TRUE(set(a.get(), EVP_CTRL_AEAD_GET_TAG, 16, ta.data()));
            EXPECT_TRUE(set(b.get(), EVP_CTRL_AEAD_GET_TAG, 16, tb.data()));
            EXPECT_EQ(ta, tb);
        }
        EXPECT_GT(counter(library, counted), before) << name;
    }
}

/// In TLS up to version 1.2 with MAC-then-encrypt, OpenSSL's own code removes the padding and the MAC in constant time.
TEST(ProviderCipher, CbcKnowsRecordsOfTls) {
    const Library library("cbc = yes\n");
    ASSERT_TRUE(library.loaded());
    for (const unsigned version : {0x0301u, 0x0302u, 0x0303u}) {
        for (const std::size_t mac_bytes : {0u, 20u, 32u}) {
            const auto ours = library.cipher("AES-128-CBC"), theirs = library.cipher("AES-128-CBC", "default");
            ASSERT_TRUE(ours && theirs);
            const Bytes key = key_for(ours.get()), iv = random_bytes(16);
            unsigned given = version;
            std::size_t mac = mac_bytes;
            const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &given),
                                         OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac),
                                         OSSL_PARAM_construct_end()};
            Bytes records[2][3];
            const EVP_CIPHER* const both[] = {theirs.get(), ours.get()};
            for (const int enc : {1, 0}) {
                for (int i = 0; i < 2; ++i) {
                    const CipherContext c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
                    ASSERT_EQ(1, EVP_CipherInit_ex2(c.get(), both[i], key.data(), iv.data(), enc, nullptr));
                    ASSERT_EQ(1, EVP_CIPHER_CTX_set_params(c.get(), params));
                    for (unsigned r = 0; r < 3; ++r) {
                        Bytes& record = records[i][r];
                        if (enc != 0) {
                            record = random_bytes(100 + 7 * r, r);
                            record.resize(record.size() + 32);
                        }
                        const int length = static_cast<int>(record.size()) - (enc != 0 ? 32 : 0);
                        int n = 0;
                        ASSERT_EQ(1, EVP_CipherUpdate(c.get(), record.data(), &n, record.data(), length));
                        if (enc != 0) record.resize(static_cast<std::size_t>(n));
                        if (enc == 0 && mac_bytes != 0) {
                            unsigned char* tag = nullptr;
                            OSSL_PARAM wanted[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC,
                                                                                  reinterpret_cast<void**>(&tag), mac),
                                                   OSSL_PARAM_construct_end()};
                            ASSERT_EQ(1, EVP_CIPHER_CTX_get_params(c.get(), wanted));
                            ASSERT_NE(tag, nullptr);
                            const Bytes copy(tag, tag + mac_bytes);
                            const Bytes text = random_bytes(100 + 7 * r, r);
                            EXPECT_TRUE(
                                std::equal(copy.begin(), copy.end(), text.end() - static_cast<long>(mac_bytes)));
                        }
                    }
                }
                for (int r = 0; r < 3; ++r) EXPECT_EQ(records[0][r], records[1][r]) << version << " " << mac_bytes;
            }
        }
    }
}

}  // namespace
}  // namespace warpaes::test
