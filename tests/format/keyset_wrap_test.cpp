// Tests keysets that are encrypted under a passphrase. Other programs' keysets open, altered keysets do not, and no
// file can exhaust the memory.
#include "format/keyset_wrap.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <string>
#include <vector>

#include "evp_oracle.hpp"
#include "keyset_texts.hpp"

namespace warpaes::test {
namespace {

// Created with Python's hashlib.scrypt, `cryptography` and Tink's protobuf messages. It contains an AES128_GCM_HKDF_4KB
// key and a destroyed key, under "correct horse" with n = 1024. tests/cli/test_passphrase.py tests the other direction.
constexpr const char* sealed_under_passphrase =
    "ZGVmZ2hpamtsbW5vo+9VgpcvQH1y1PH8DN9YkRZ8vRnpb3Mf8zwZVK6H8MIzp+34rN/Xs4bHlFWoshO4fn4bsXAJNmzopQoyv+8H"
    "P2TDY5IhSO4uSkpLa7KWFSKBKM+CRmQRfoqOmi3VjFCDKTAy7AD7JiEmUeeO9z134cX3Z2HxkH+3nS9idVAXbu51vQ==";
constexpr const char* salt = "AAECAwQFBgcICQoLDA0ODw==";
constexpr const char* keyset_info =
    "{\"primaryKeyId\": 7, \"keyInfo\": [{\"typeUrl\": "
    "\"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey\", "
    "\"status\": \"ENABLED\", \"keyId\": 7, \"outputPrefixType\": \"RAW\"}, {\"status\": \"DESTROYED\", \"keyId\": 8, "
    "\"outputPrefixType\": \"RAW\"}]}";

std::string wrapped_under_passphrase(const std::string& n = "1024", const std::string& r = "8",
                                     const std::string& p = "1") {
    return std::string("{\"encryptedKeyset\": \"") + sealed_under_passphrase + "\", \"keysetInfo\": " + keyset_info +
           ", \"keyEncryptionKey\": {\"kdf\": \"scrypt\", \"salt\": \"" + salt + "\", \"n\": " + n + ", \"r\": " + r +
           ", \"p\": " + p + "}}";
}

Keyset open_under_passphrase(const std::string& json, std::string_view passphrase = "correct horse") {
    return unwrap_keyset(json, bytes(passphrase));
}

constexpr const char* wrong_passphrase = "passphrase: is wrong, or the keyset was altered";
constexpr std::size_t plenty = 1 << 20;
const Scrypt least{131072, 8, 1};

TEST(KeysetWrap, SomebodyElsesOpens) {
    const Keyset keyset = open_under_passphrase(wrapped_under_passphrase());
    ASSERT_EQ(keyset.entries().size(), 2u);
    EXPECT_EQ(keyset.primary().id, 7u);
    EXPECT_EQ(template_name_of(keyset.primary().parameters), "AES128_GCM_HKDF_4KB");
    EXPECT_EQ(keyset.primary().key, SecretVector(16, 0x5a));
    EXPECT_EQ(keyset.entries()[1].state, KeyState::destroyed);
    EXPECT_EQ(open_under_passphrase(
                  replaced(wrapped_under_passphrase(), std::string("\"keysetInfo\": ") + keyset_info + ", ", ""))
                  .entries()
                  .size(),
              2u);
}

TEST(KeysetWrap, AnyPassphraseButTheRightOneIsToldInTheSameWords) {
    const std::string nul("correct\0horse", 13), far(100000, 'x');
    for (const std::string& guess :
         {std::string("correct hors"), std::string("Correct horse"), std::string("\xff"), nul, far}) {
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
                [&] { open_under_passphrase(wrapped_under_passphrase(), guess); });
    }
    refused(WARPAES_ERROR_ARGUMENT, "passphrase: is empty",
            [&] { open_under_passphrase(wrapped_under_passphrase(), ""); });
}

TEST(KeysetWrap, WhatWasAlteredIsToldInTheSameWords) {
    for (std::size_t i = 0; i + 2 < std::string_view(sealed_under_passphrase).size(); i += 5) {
        std::string altered(sealed_under_passphrase);
        altered[i] = altered[i] == 'A' ? 'B' : 'A';
        refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
                [&] { open_under_passphrase(replaced(wrapped_under_passphrase(), sealed_under_passphrase, altered)); });
    }
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(replaced(wrapped_under_passphrase(), salt, "AQECAwQFBgcICQoLDA0ODw==")); });
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(wrapped_under_passphrase("2048")); });
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(wrapped_under_passphrase("1024", "9")); });
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(wrapped_under_passphrase("1024", "8", "2")); });
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(wrapped_under_passphrase("2", "65536", "1")); });
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase,
            [&] { open_under_passphrase(wrapped_under_passphrase("2", "1", "65536")); });
}

TEST(KeysetWrap, WhatEverybodySeesIsWhatIsInside) {
    const char* altered[][2] = {{"\"primaryKeyId\": 7", "\"primaryKeyId\": 8"},
                                {"\"keyId\": 7", "\"keyId\": 9"},
                                {"ENABLED", "DISABLED"},
                                {"AesGcmHkdf", "AesCtrHmac"},
                                {"AesGcmHkdf", "AesGcmSomething"},
                                {"\"outputPrefixType\": \"RAW\"", "\"outputPrefixType\": \"TINK\""}};
    for (const auto& [from, to] : altered) {
        refused(WARPAES_ERROR_KEYSET, "it was altered",
                [&] { open_under_passphrase(replaced(wrapped_under_passphrase(), from, to)); });
    }
}

TEST(KeysetWrap, NoCostTakesAllMemoryOrHours) {
    // No memory is allocated for these costs. The first cost needs a terabyte, and a failed allocation would produce a
    // different message.
    for (const auto& [n, r, p] : {std::array{"2147483648", "4", "1"},
                                  {"1048576", "9", "1"},
                                  {"2", "4294967295", "1"},
                                  {"2", "1", "33554432"},
                                  {"2", "1048576", "1"},  // 640 MiB, plus 256 MiB according to the formula
                                  {"2147483648", "4294967295", "4294967295"}}) {
        refused(WARPAES_ERROR_KEYSET, "1024 MiB", [&] { open_under_passphrase(wrapped_under_passphrase(n, r, p)); });
        refused(WARPAES_ERROR_KEYSET, "1024 MiB", [&] { (void)peek_keyset(wrapped_under_passphrase(n, r, p)); });
    }
    refused(WARPAES_ERROR_KEYSET, "8 times the work",
            [&] { open_under_passphrase(wrapped_under_passphrase("1048576", "8", "9")); });
    refused(WARPAES_ERROR_KEYSET, "8 times the work",
            [&] { open_under_passphrase(wrapped_under_passphrase("1024", "8", "8193")); });
    for (const char* n : {"0", "1", "1023", "3"}) {
        refused(WARPAES_ERROR_KEYSET, "a power of two", [&] { open_under_passphrase(wrapped_under_passphrase(n)); });
    }
    refused(WARPAES_ERROR_KEYSET, "1 or more", [&] { open_under_passphrase(wrapped_under_passphrase("1024", "0")); });
    refused(WARPAES_ERROR_KEYSET, "1 or more",
            [&] { open_under_passphrase(wrapped_under_passphrase("1024", "8", "0")); });
    refused(WARPAES_ERROR_KEYSET, "below 2^32", [&] { open_under_passphrase(wrapped_under_passphrase("4294967296")); });
}

TEST(KeysetWrap, WhatIsNoneIsToldBeforeAnythingIsDerived) {
    const std::string whole = wrapped_under_passphrase();
    refused(WARPAES_ERROR_KEYSET, "key derivation is not scrypt",
            [&] { open_under_passphrase(replaced(whole, "\"scrypt\"", "\"argon2id\"")); });
    refused(WARPAES_ERROR_KEYSET, "a kdf before it",
            [&] { open_under_passphrase(replaced(whole, "\"kdf\": \"scrypt\", ", "")); });
    refused(WARPAES_ERROR_KEYSET, "a salt before it", [&] { open_under_passphrase(replaced(whole, salt, "")); });
    refused(WARPAES_ERROR_KEYSET, "base64", [&] { open_under_passphrase(replaced(whole, salt, "AAE")); });
    refused(WARPAES_ERROR_KEYSET, "\"keyEncryptionKey\" before it",
            [&] { open_under_passphrase(replaced(whole, "keysetInfo", "keysetinfo")); });
    refused(WARPAES_ERROR_KEYSET, "\"primaryKeyId\" or \"keyInfo\" before it",
            [&] { open_under_passphrase(replaced(whole, "\"keyInfo\"", "\"keyinfo\"")); });
    refused(WARPAES_ERROR_KEYSET, "no encryptedKeyset",
            [&] { open_under_passphrase(replaced(whole, sealed_under_passphrase, "AAAA")); });
    const std::string of_a_kms =
        replaced(whole, whole.substr(whole.find(", \"keyEncryptionKey\""), std::string::npos), "}");
    refused(WARPAES_ERROR_KEYSET, "under a key, not under a passphrase", [&] { open_under_passphrase(of_a_kms); });
    refused(WARPAES_ERROR_KEYSET, "is encrypted", [&] { (void)Keyset::parse(whole); });
    for (std::size_t length = 0; length < whole.size(); ++length) {
        refused(WARPAES_ERROR_KEYSET, "keyset: ", [&] { open_under_passphrase(whole.substr(0, length)); });
    }
}

// Encodes a field of Tink's protobuf messages.
std::string field(unsigned number, unsigned value) {
    return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string field(unsigned number, const std::string& content) {
    const auto length = static_cast<unsigned>(content.size());  // encoded in two bytes
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(length | 0x80),
                       static_cast<char>(length >> 7)} +
           content;
}

/// Returns a file whose encrypted part is `message`, which may be invalid.
std::string sealed_message(const std::string& message) {
    std::vector<std::uint8_t> its_salt(16, 9), key(32), nonce(12, 5);
    EXPECT_EQ(EVP_PBE_scrypt("x", 1, its_salt.data(), its_salt.size(), 2, 1, 1, 0, key.data(), key.size()), 1);
    const std::vector<std::uint8_t> sealed_text = oracle::evp_gcm(key, nonce, {message.begin(), message.end()}, {});
    nonce.insert(nonce.end(), sealed_text.begin(), sealed_text.end());
    return "{\"encryptedKeyset\": \"" + base64(nonce) +
           "\", \"keysetInfo\": {\"primaryKeyId\": 7, \"keyInfo\": [{\"typeUrl\": \"" + std::string(gcm_type) +
           "\", \"status\": \"ENABLED\", \"keyId\": 7, \"outputPrefixType\": \"RAW\"}]}, \"keyEncryptionKey\": "
           "{\"kdf\": \"scrypt\", \"salt\": \"" +
           base64(its_salt) + "\", \"n\": 2, \"r\": 1, \"p\": 1}}";
}

TEST(KeysetWrap, WhatTheMessageInsideMayHold) {
    // An AES128_GCM_HKDF_4KB key.
    const std::string value =
        field(2, std::string("\x08\x80\x20", 3) + field(2, 16U) + field(3, 3U)) + field(3, std::string(16, 'k'));
    const std::string data = field(1, gcm_type) + field(2, value) + field(3, 1U);
    const std::string entry = field(1, data) + field(2, 1U) + field(3, 7U) + field(4, 3U);
    const std::string primary = field(1, 7U);
    const Keyset good = open_under_passphrase(sealed_message(primary + field(2, entry)), "x");
    ASSERT_EQ(good.entries().size(), 1u);
    EXPECT_EQ(good.entries()[0].key.id, 7u);
    EXPECT_EQ(good.entries()[0].data.type_url, gcm_type);
    EXPECT_EQ(text(good.entries()[0].data.value), value);
    EXPECT_EQ(good.entries()[0].data.material, "SYMMETRIC");
    EXPECT_EQ(good.entries()[0].data.output_prefix, "RAW");
    EXPECT_EQ(good.primary_id(), 7u);
    const auto expect = [](const std::string& words, const std::string& message) {
        refused(WARPAES_ERROR_KEYSET, words, [&] { open_under_passphrase(sealed_message(message), "x"); });
    };
    const std::string lost = " of a message, which this version does not support and would lose";
    expect("has the field 3" + lost, primary + field(2, entry) + field(3, 1U));
    expect("has the field 5" + lost, primary + field(2, entry + field(5, 1U)));
    expect("has the field 4" + lost, primary + field(2, field(1, data + field(4, "x")) + entry));
    expect("has no status", primary + field(2, field(1, data) + field(3, 7U) + field(4, 3U)));
    expect("has no outputPrefixType", primary + field(2, field(1, data) + field(2, 1U) + field(3, 7U)));
    for (const unsigned value : {0U, 4U}) {
        expect("a key has a status that does not exist", primary + field(2, entry + field(2, value)));
    }
    for (const unsigned value : {0U, 5U}) {
        expect("a key has a kind of material that does not exist",
               primary + field(2, field(1, field(3, value)) + entry));
    }
    expect("a key has a kind of prefix that does not exist", primary + field(2, entry + field(4, 0U)));
    expect("bytes in place of a number", field(1, "x") + field(2, entry));
    expect("a number in place of bytes", primary + field(2, 1U));
    expect("it is truncated", (primary + field(2, entry)).substr(0, 20));
    expect("unknown field", primary + field(2, entry) + field(0, 1U));
}

TEST(KeysetWrap, OnlyLookedAt) {
    const PeekedKeyset peeked = peek_keyset(wrapped_under_passphrase("2048", "4", "2"));
    EXPECT_EQ(peeked.cost.n, 2048u);
    EXPECT_EQ(peeked.cost.r, 4u);
    EXPECT_EQ(peeked.cost.p, 2u);
    Keyset keyset = peeked.keyset;
    ASSERT_EQ(keyset.entries().size(), 2u);
    EXPECT_EQ(keyset.primary_id(), 7u);
    EXPECT_FALSE(keyset.entries()[0].for_files);
    constexpr const char* closed = "was only listed";
    refused(WARPAES_ERROR_KEYSET, closed, [&] { (void)keyset.primary(); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { (void)keyset.usable(); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { (void)keyset.to_json(); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { keyset.add("AES128_GCM_HKDF_4KB"); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { keyset.promote(7); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { keyset.set_state(8, KeyState::destroyed); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { keyset.remove(8); });
    refused(WARPAES_ERROR_KEYSET, closed, [&] { (void)wrap_keyset(keyset, bytes("x"), least, plenty); });
}

TEST(KeysetWrap, WhatIsWrittenOpensAndIsNeverTheSame) {
    Keyset keyset;
    const std::uint32_t first = keyset.add("AES256_CTR_HMAC_SHA256_1MB");
    keyset.add("AES128_GCM_HKDF_4KB");
    keyset.set_state(keyset.entries()[1].key.id, KeyState::disabled);
    keyset.set_state(keyset.add("AES128_GCM_HKDF_1MB"), KeyState::destroyed);
    const std::string a = text(wrap_keyset(keyset, bytes("x"), least, plenty));
    const std::string b = text(wrap_keyset(keyset, bytes("x"), least, plenty));
    EXPECT_NE(a, b);
    EXPECT_EQ(a.find("AAAAAAAA"), std::string::npos);
    for (const std::string& json : {a, b})
        EXPECT_EQ(text(open_under_passphrase(json, "x").to_json()), text(keyset.to_json()));
    EXPECT_EQ(peek_keyset(a).keyset.primary_id(), first);
    refused(WARPAES_ERROR_AUTHENTICATION, wrong_passphrase, [&] { open_under_passphrase(a, "y"); });
    // Without a buffer, the call only returns the length.
    EXPECT_EQ(wrap_keyset(keyset, bytes("x"), least, a.size() - 1).size(), a.size());
}

TEST(KeysetWrap, WhatCannotBeWritten) {
    Keyset keyset;
    refused(WARPAES_ERROR_KEYSET, "is empty", [&] { (void)wrap_keyset(keyset, bytes("x"), least, plenty); });
    keyset.add("AES128_GCM_HKDF_4KB");
    refused(WARPAES_ERROR_ARGUMENT, "passphrase: is empty", [&] { (void)wrap_keyset(keyset, {}, least, plenty); });
    refused(WARPAES_ERROR_ARGUMENT, "at least 128 MiB", [&] {
        (void)wrap_keyset(keyset, bytes("x"), {65536, 8, 1}, plenty);
    });
    refused(WARPAES_ERROR_ARGUMENT, "a power of two", [&] {
        (void)wrap_keyset(keyset, bytes("x"), {131073, 8, 1}, plenty);
    });
    refused(WARPAES_ERROR_ARGUMENT, "1024 MiB", [&] {
        (void)wrap_keyset(keyset, bytes("x"), {1u << 21, 8, 1}, plenty);
    });
    // The products of n and r are 2^64, which overflows to 0.
    for (const Scrypt& cost : {Scrypt{std::uint64_t{1} << 63, 2, 1}, Scrypt{std::uint64_t{1} << 62, 4, 1}}) {
        refused(WARPAES_ERROR_ARGUMENT, "1024 MiB", [&] { (void)wrap_keyset(keyset, bytes("x"), cost, plenty); });
    }
    keyset.add("C2SP_CHUNKED_256");
    refused(WARPAES_ERROR_KEYSET, "C2SP", [&] { (void)wrap_keyset(keyset, bytes("x"), least, plenty); });
}

TEST(KeysetWrap, TheCostIsBetweenItsBounds) {
    const Scrypt none = choose_scrypt(0);
    EXPECT_EQ(none.n, 131072u);
    EXPECT_EQ(none.r, 8u);
    EXPECT_EQ(none.p, 1u);
    EXPECT_EQ(choose_scrypt(1e9).memory(), most_scrypt_memory);
    for (const double seconds :
         {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        refused(WARPAES_ERROR_ARGUMENT, "seconds", [&] { (void)choose_scrypt(seconds); });
    }
}

}  // namespace
}  // namespace warpaes::test
