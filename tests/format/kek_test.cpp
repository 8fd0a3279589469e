// Tests keysets that are encrypted under a key-encryption key. Tink keysets open with every format of such a key, and
// only with the right key.
#include "format/kek.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "evp_oracle.hpp"
#include "format/key_text.hpp"
#include "format/keyset_wrap.hpp"
#include "keyset_texts.hpp"

namespace warpaes::test {
namespace {

using Text = std::vector<std::uint8_t>;

// The output of tink-py's serialize_encrypted under the first key below, with the associated data "backup". It contains
// an AES128_GCM_HKDF_4KB key with ID 7, and key 8, which is disabled.
constexpr const char* sealed_under_kek =
    "AQECAwSdnmUA1AO6OR+Z2LTILfu1vowh4zrIBiEZG2Nnhx7Qt5yk11hDhnj6YSjRcSgflE0UIzrDqTtEoP4uLORPN97aYPq0sI8as7XL9mSKMNXQ"
    "696jn+GMiqpDuYPHebb/PpPTIVj/oLyRXgisKDLG/bvw2XTgacnmm66lWMxAkShNjLPhMGrCG0i3D2cUA7m+4GD16/VJM1mWvZPkn567rSckGPr4"
    "hadSRJa7EbPV8xxugt1ypOjA6cIsupMOdVaaTx9f9HQcQXA2o75+OuSE2jZ81A3TD+KjFChKNAFHIbNlhVXzFJMa/yUD/bB/xLWh";
constexpr const char* aes_gcm = "type.googleapis.com/google.crypto.tink.AesGcmKey";
constexpr const char* salt_of_a_passphrase =
    ", \"keyEncryptionKey\": {\"kdf\": \"scrypt\", \"salt\": \"AAEC\", \"n\": 2, \"r\": 1, \"p\": 1}}";

std::string key_info(int id, const std::string& state) {
    return std::string("{\"typeUrl\": \"") + gcm_type + "\", \"status\": \"" + state +
           "\", \"keyId\": " + std::to_string(id) + ", \"outputPrefixType\": \"RAW\"}";
}

std::string wrapped_under_kek(const std::string& text = sealed_under_kek) {
    return "{\"encryptedKeyset\": \"" + text + "\", \"keysetInfo\": {\"primaryKeyId\": 7, \"keyInfo\": [" +
           key_info(7, "ENABLED") + ", " + key_info(8, "DISABLED") + "]}}";
}

Text bytes_of_base64(const std::string& text) {
    Text to(text.size() / 4 * 3);
    EVP_DecodeBlock(to.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    to.resize(to.size() - static_cast<std::size_t>(std::count(text.begin(), text.end(), '=')));
    return to;
}

/// Returns the bytes 0, 1, 2, ….
std::string raw(std::size_t bytes) {
    std::string key;
    for (std::size_t i = 0; i < bytes; ++i) key += static_cast<char>(i);
    return key;
}

std::string hex(const std::string& key, const char* digits = "0123456789abcdef") {
    std::string text;
    for (const char c : key) text += {digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
    return text;
}

/// Returns an AesGcmKey. Its field 3 is key_value.
std::string aes_gcm_key(const std::string& key) {
    return std::string{'\x1a', static_cast<char>(key.size())} + key;
}

std::string kek_key_json(unsigned id, const std::string& value, const std::string& prefix = "TINK",
                         const std::string& state = "ENABLED", const std::string& type = aes_gcm) {
    return "{\"keyData\": {\"typeUrl\": \"" + type + "\", \"value\": \"" + base64(bytes(value)) +
           "\", \"keyMaterialType\": \"SYMMETRIC\"}, \"status\": \"" + state + "\", \"keyId\": " + std::to_string(id) +
           ", \"outputPrefixType\": \"" + prefix + "\"}";
}

const std::string first = kek_key_json(0x01020304, aes_gcm_key(raw(16)));
const std::string kek = keyset_json(0x01020304, first);

Keyset open_under_kek(const std::string& json, const std::string& key = kek, const std::string& aad = "backup") {
    return unwrap_keyset_under(json, bytes(key), bytes(aad));
}

std::string wrap(const Keyset& keyset, const std::string& key = kek, const std::string& aad = "backup") {
    return text(wrap_keyset_under(keyset, bytes(key), bytes(aad)));
}

Text sealed_part(const std::string& json) {
    const std::size_t begin = json.find("\"encryptedKeyset\": \"") + 20;
    return bytes_of_base64(json.substr(begin, json.find('"', begin) - begin));
}

constexpr const char* wrong_kek =
    "kek: does not open the keyset; the key or the associated data is wrong, or the keyset was altered";

TEST(KeysetUnderKek, TinksOpens) {
    const Keyset keyset = open_under_kek(wrapped_under_kek());
    ASSERT_EQ(keyset.entries().size(), 2u);
    EXPECT_EQ(keyset.primary().id, 7u);
    EXPECT_EQ(template_name_of(keyset.primary().parameters), "AES128_GCM_HKDF_4KB");
    EXPECT_EQ(keyset.primary().key, SecretVector(16, 0x5a));
    EXPECT_EQ(keyset.entries()[1].state, KeyState::disabled);
    // Tink can omit keysetInfo.
    EXPECT_EQ(open_under_kek(std::string("{\"encryptedKeyset\": \"") + sealed_under_kek + "\"}").entries().size(), 2u);
    EXPECT_EQ(open_under_kek(wrapped_under_kek(), " \n" + kek + "\r\n").entries().size(), 2u);
}

/// The test computes prefix, nonce, ciphertext and tag with a different AES-GCM implementation.
TEST(KeysetUnderKek, EveryFormOfAKey) {
    const Keyset inside = open_under_kek(wrapped_under_kek());
    struct Form {
        std::string kek;
        std::size_t key_bytes;
        Text prefix;
    };
    const Text tink{1, 0xfe, 2, 3, 4}, older{0, 0xfe, 2, 3, 4};
    std::vector<Form> forms;
    for (const std::size_t n : {std::size_t{16}, std::size_t{32}}) {
        const std::string key = raw(n);
        forms.push_back({key, n, {}});
        for (const std::string& digits : {hex(key), hex(key, "0123456789ABCDEF"), " \t\n\v\f\r" + hex(key) + "\n"}) {
            forms.push_back({digits, n, {}});
        }
        const auto with_prefix = [&](const char* kind) {
            return keyset_json(0xfe020304, kek_key_json(0xfe020304, aes_gcm_key(key), kind));
        };
        forms.push_back({with_prefix("TINK"), n, tink});
        forms.push_back({with_prefix("CRUNCHY"), n, older});
        forms.push_back({with_prefix("LEGACY"), n, older});
        forms.push_back({with_prefix("RAW"), n, {}});
    }
    for (const Form& form : forms) {
        for (const std::string& aad : {std::string(), std::string("backup"), std::string(1000, '\0')}) {
            const std::string json = wrap(inside, form.kek, aad);
            EXPECT_EQ(text(open_under_kek(json, form.kek, aad).to_json()), text(inside.to_json()));
            refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(json, form.kek, aad + "x"); });
            const Text part = sealed_part(json);
            ASSERT_GT(part.size(), form.prefix.size() + 28);
            ASSERT_EQ(Text(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(form.prefix.size())), form.prefix);
            // Decryption repeats the encryption, because GCM's key stream is CTR's.
            const std::string key = raw(form.key_bytes);
            const Text nonce(part.begin() + static_cast<std::ptrdiff_t>(form.prefix.size()),
                             part.begin() + static_cast<std::ptrdiff_t>(form.prefix.size() + 12));
            const Text cipher(part.begin() + static_cast<std::ptrdiff_t>(form.prefix.size() + 12), part.end() - 16);
            const Text key_bytes(key.begin(), key.end());
            Text plain = oracle::evp_gcm(key_bytes, nonce, cipher, {});
            plain.resize(cipher.size());
            Text again = oracle::evp_gcm(key_bytes, nonce, plain, {aad.begin(), aad.end()});
            EXPECT_TRUE(std::equal(again.begin(), again.end(), part.end() - static_cast<std::ptrdiff_t>(again.size())));
            EXPECT_EQ(plain[0], 8);  // primaryKeyId
        }
    }
}

/// Tests which key-encryption keys are read as hexadecimal digits. python/warpaes/keysources/_local.py has the same
/// rules.
TEST(KeysetUnderKek, DigitsAreDigitsAndOtherBytesAreBytes) {
    const Keyset inside = open_under_kek(wrapped_under_kek());
    const std::string digits = hex(raw(16));  // also 32 bytes long
    EXPECT_EQ(text(open_under_kek(wrap(inside, digits), raw(16)).to_json()), text(inside.to_json()));
    const std::string blank = " " + raw(30) + "\n";
    EXPECT_EQ(text(open_under_kek(wrap(inside, blank), blank).to_json()), text(inside.to_json()));
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(wrap(inside, blank), raw(32)); });
    const std::string marked = "\xef\xbb\xbf" + digits + "\r\n";
    EXPECT_EQ(text(open_under_kek(wrap(inside, marked), raw(16)).to_json()), text(inside.to_json()));
}

TEST(KeysetUnderKek, TextIsNoKey) {
    const Keyset inside = open_under_kek(wrapped_under_kek());
    const std::string digits = hex(raw(16));
    for (const std::string& key : {digits.substr(0, 31) + "g", digits.substr(0, 31) + "\n",
                                   std::string("hunter2-hunter2\n"), std::string(32, 'k')}) {
        refused(WARPAES_ERROR_KEYSET, "is text, not a raw key", [&] { wrap(inside, key); });
    }
    refused(WARPAES_ERROR_KEYSET, "is text in UTF-16, not a raw key", [&] {
        wrap(inside, std::string("h\0u\0n\0t\0e\0r\0"
                                 "2\0\n\0",
                                 16));
    });
    refused(WARPAES_ERROR_KEYSET, "kek: is text in UTF-16; save it as UTF-8",
            [&] { wrap(inside, std::string("\xff\xfe{\0}\0 \0\n\0", 10)); });
}

/// Checks that at most one in 50,000 random 16-byte keys looks like text. The header states about one in 100,000.
TEST(KeyText, RandomKeysAreNoText) {
    std::mt19937_64 random(7);
    unsigned taken = 0;
    constexpr unsigned tries = 2'000'000;
    for (unsigned i = 0; i < tries; ++i) {
        std::array<std::uint64_t, 2> key{random(), random()};
        try {
            refuse_text({reinterpret_cast<const std::uint8_t*>(key.data()), sizeof key}, "key:");
        } catch (const Error&) {
            ++taken;
        }
    }
    EXPECT_LT(taken, tries / 50'000);
}

TEST(KeysetUnderKek, ThePrimaryEncryptsAndEveryEnabledKeyDecrypts) {
    const Keyset inside = open_under_kek(wrapped_under_kek());
    const std::string old = wrap(inside);
    const std::string second = kek_key_json(9, aes_gcm_key(std::string(32, 'k')));
    const std::string third = kek_key_json(10, aes_gcm_key(std::string(16, '\xb1')), "RAW");
    const std::string other =
        kek_key_json(11, "", "RAW", "DISABLED", "type.googleapis.com/google.crypto.tink.AesSivKey");
    const std::string all = first + ", " + second + ", " + other + ", " + third;
    const std::string rotated = keyset_json(9, all);
    EXPECT_EQ(open_under_kek(old, rotated).primary_id(), 7u);
    EXPECT_EQ(open_under_kek(wrapped_under_kek(), rotated).primary_id(), 7u);
    const std::string now = wrap(inside, rotated);
    Text part = sealed_part(now);
    part.resize(5);
    EXPECT_EQ(part, (Text{1, 0, 0, 0, 9}));
    EXPECT_EQ(open_under_kek(now, keyset_json(9, second)).primary_id(), 7u);
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(now); });
    // A key without a prefix is always tried, whatever the first bytes are.
    EXPECT_EQ(open_under_kek(wrap(inside, std::string(16, '\xb1')), rotated).primary_id(), 7u);
    for (const char* state : {"DISABLED", "DESTROYED"}) {
        const std::string off = replaced(rotated, "ENABLED", state);
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(old, off); });
        EXPECT_EQ(open_under_kek(now, off).primary_id(), 7u);
    }
}

TEST(KeysetUnderKek, AnotherKeyOrWhatWasAlteredIsToldInTheSameWords) {
    for (const std::string& other :
         {raw(16), raw(32), hex(raw(16)), replaced(kek, "TINK", "RAW"), replaced(kek, "TINK", "CRUNCHY"),
          keyset_json(5, kek_key_json(5, aes_gcm_key(raw(16)))),
          keyset_json(0x01020304, kek_key_json(0x01020304, aes_gcm_key(raw(32))))}) {
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(wrapped_under_kek(), other); });
    }
    for (const char* aad : {"", "backu", "Backup", "backup "}) {
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(wrapped_under_kek(), kek, aad); });
    }
    const std::string good = sealed_under_kek;
    for (std::size_t i = 0; i < good.size(); i += 5) {
        std::string altered = good;
        altered[i] = altered[i] == 'A' ? 'B' : 'A';
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek, [&] { open_under_kek(wrapped_under_kek(altered)); });
    }
    // Lengths of 29 to 33 bytes, including the prefix, leave too few bytes for a tag.
    for (std::size_t length = 40; length < good.size(); length += 4) {
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_kek,
                [&] { open_under_kek(wrapped_under_kek(good.substr(0, length))); });
    }
}

TEST(KeysetUnderKek, WhatIsNoEncryptedKeyset) {
    const std::string whole = wrapped_under_kek();
    refused(WARPAES_ERROR_KEYSET, "under a passphrase, not under a key: open it with warpaes_keyset_unwrap",
            [&] { open_under_kek(whole.substr(0, whole.size() - 1) + salt_of_a_passphrase); });
    refused(WARPAES_ERROR_KEYSET, "under a key, not under a passphrase: open it with warpaes_keyset_unwrap_under",
            [&] { (void)unwrap_keyset(whole, bytes("x")); });
    refused(WARPAES_ERROR_KEYSET, "keyset: is encrypted; open it with warpaes_keyset_unwrap",
            [&] { (void)Keyset::parse(whole); });
    refused(WARPAES_ERROR_KEYSET, "no encryptedKeyset", [&] { open_under_kek(wrapped_under_kek("AAAA")); });
    refused(WARPAES_ERROR_KEYSET, "base64", [&] { open_under_kek(wrapped_under_kek("AAA")); });
    refused(WARPAES_ERROR_KEYSET, "before it", [&] { open_under_kek(replaced(whole, "keysetInfo", "keysetinfo")); });
    refused(WARPAES_ERROR_KEYSET, "expected", [&] { open_under_kek(text(open_under_kek(whole).to_json())); });
    for (std::size_t length = 0; length < whole.size(); ++length) {
        refused(WARPAES_ERROR_KEYSET, "keyset: ", [&] { open_under_kek(whole.substr(0, length)); });
    }
    for (const auto& change : {std::pair{"\"primaryKeyId\": 7", "\"primaryKeyId\": 8"},
                               {"\"keyId\": 7", "\"keyId\": 9"},
                               {"DISABLED", "ENABLED"},
                               {"AesGcmHkdf", "AesCtrHmac"},
                               {"\"RAW\"", "\"TINK\""}}) {
        refused(WARPAES_ERROR_KEYSET, "it was altered",
                [&] { open_under_kek(replaced(whole, change.first, change.second)); });
    }
}

TEST(KeysetUnderKek, WhatIsNoKey) {
    const auto expect = [](const std::string& words, const std::string& key) {
        refused(WARPAES_ERROR_KEYSET, "kek: " + words, [&] { open_under_kek(wrapped_under_kek(), key); });
        refused(WARPAES_ERROR_KEYSET, "kek: " + words, [&] { (void)parse_keks(bytes(key)); });
    };
    const std::string neither = "is neither a keyset in Tink's JSON nor a key";
    for (const std::string& key :
         {std::string(), raw(15), raw(24), raw(33), hex(raw(24)), hex(raw(15)), hex(raw(16)) + "0", std::string("[]"),
          std::string(" \n"), std::string(100000, '0')}) {
        expect(neither, key);
    }
    expect("is encrypted itself; a key-encryption key must be unencrypted", wrapped_under_kek());
    expect("is empty", "{}");
    expect("does not name a primary key", "{\"key\": [" + first + "]}");
    expect("its primary, key 5, is missing", keyset_json(5, first));
    expect("has two keys with the number 16909060", keyset_json(0x01020304, first + ", " + first));
    expect("key 16909060 is the primary but not enabled", replaced(kek, "ENABLED", "DISABLED"));
    expect("key 16909060 is the primary key but not an AesGcmKey", replaced(kek, "AesGcmKey", "AesSivKey"));
    expect("key 16909060 is not marked as symmetric", replaced(kek, "SYMMETRIC", "REMOTE"));
    expect("key 16909060 has a prefix that is not an AEAD's", replaced(kek, "TINK", "WITH_ID_REQUIREMENT"));
    expect("byte ", replaced(kek, "TINK", "TANK"));
    expect("byte ", replaced(kek, "\"keyId\"", "\"keyid\""));
    expect("is longer than 1 MiB", "{" + std::string(1 << 20, ' ') + "}");
    const auto of_value = [](const std::string& value) { return keyset_json(7, kek_key_json(7, value)); };
    for (const std::size_t n : {0, 15, 24, 33}) {
        expect("key 7 has " + std::to_string(n) + " bytes; it must be 16 or 32", of_value(aes_gcm_key(raw(n))));
    }
    expect("key 7 has 0 bytes", of_value(""));
    expect("key 7 has an unknown version", of_value("\x08\x01" + aes_gcm_key(raw(16))));
    expect("a key's value does not match its type", of_value(aes_gcm_key(raw(16)).substr(0, 10)));
    expect("a key's value does not match its type", of_value("\x18\x10"));
    // Keys for files are not key-encryption keys.
    expect("key 7 is the primary key but not an AesGcmKey", text(open_under_kek(wrapped_under_kek()).to_json()));
    for (std::size_t length = 1; length < kek.size(); ++length) {
        if (length == 16 || length == 32) continue;  // bytes of these lengths may be keys
        refused(WARPAES_ERROR_KEYSET, "kek: ", [&] { (void)parse_keks(bytes(kek.substr(0, length))); });
    }
}

TEST(KeysetUnderKek, NoSentenceRepeatsAKey) {
    const std::string secret = "0123456789abcdef0123456789abcde", value = base64(bytes(secret));
    const std::string inside = kek_key_json(7, aes_gcm_key(secret));
    for (const std::string& key : {secret, secret + " \n", keyset_json(8, inside), keyset_json(7, inside), value}) {
        try {
            (void)parse_keks(bytes(key));
            FAIL() << key;
        } catch (const Error& e) {
            for (std::size_t at = 0; at + 8 < secret.size(); ++at) {
                EXPECT_EQ(std::string(e.what()).find(secret.substr(at, 8)), std::string::npos) << e.what();
            }
            EXPECT_EQ(std::string(e.what()).find(value.substr(0, 8)), std::string::npos) << e.what();
        }
    }
}

TEST(KeysetUnderKek, OnlyLookedAt) {
    const PeekedKeyset peeked = peek_keyset(wrapped_under_kek());
    EXPECT_EQ(peeked.cost.n, 0u);
    EXPECT_EQ(peeked.cost.r, 0u);
    EXPECT_EQ(peeked.cost.p, 0u);
    ASSERT_EQ(peeked.keyset.entries().size(), 2u);
    EXPECT_EQ(peeked.keyset.primary_id(), 7u);
    EXPECT_EQ(peeked.keyset.entries()[1].state, KeyState::disabled);
    refused(WARPAES_ERROR_KEYSET, "was only listed", [&] { (void)wrap(peeked.keyset); });
}

TEST(KeysetUnderKek, WhatIsWrittenIsNeverTheSame) {
    Keyset keyset;
    refused(WARPAES_ERROR_KEYSET, "is empty", [&] { (void)wrap(keyset); });
    const std::uint32_t id = keyset.add("AES256_CTR_HMAC_SHA256_1MB");
    keyset.set_state(keyset.add("AES128_GCM_HKDF_1MB"), KeyState::destroyed);
    const std::string a = wrap(keyset), b = wrap(keyset);
    EXPECT_NE(a, b);
    EXPECT_EQ(a.size(), b.size());
    for (const std::string& json : {a, b}) EXPECT_EQ(text(open_under_kek(json).to_json()), text(keyset.to_json()));
    EXPECT_EQ(peek_keyset(a).keyset.primary_id(), id);
    EXPECT_EQ(a.find("keyEncryptionKey"), std::string::npos);
    keyset.add("C2SP_CHUNKED_256");
    refused(WARPAES_ERROR_KEYSET, "C2SP", [&] { (void)wrap(keyset); });
}

}  // namespace
}  // namespace warpaes::test
