// Tests JSON that Tink writes, and small deviations from it.
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "format/keyset.hpp"
#include "keyset_texts.hpp"
#include "segment_cases.hpp"

namespace warpaes::test {
namespace {

constexpr const char* hmac_type = "type.googleapis.com/google.crypto.tink.AesCtrHmacStreamingKey";
// Keys of the templates AES128_GCM_HKDF_4KB and AES256_CTR_HMAC_SHA256_1MB, created by Tink.
constexpr const char* gcm_value = "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21QT";
constexpr const char* hmac_value = "Eg4IgIBAECAYAyIECAMQIBogtiUIKiCL4ViPp9NfhIAYDNzilSCsyBP52FA49ShHNcM=";

std::string data_json(const std::string& type, const std::string& value) {
    return "\"keyData\": {\"typeUrl\": \"" + type + "\", \"value\": \"" + value +
           "\", \"keyMaterialType\": \"SYMMETRIC\"}, ";
}

std::string key_json(std::uint32_t id, const std::string& type, const std::string& value,
                     const std::string& status = "ENABLED") {
    return "{" + data_json(type, value) + "\"status\": \"" + status + "\", \"keyId\": " + std::to_string(id) +
           ", \"outputPrefixType\": \"RAW\"}";
}

std::string usual() {
    return keyset_json(7, key_json(7, gcm_type, gcm_value));
}

std::string with_value(const std::string& hex, const char* type = gcm_type) {
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes, text;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        }
        for (unsigned k = 0; k < 4; ++k) {
            text += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
        }
    }
    return keyset_json(7, key_json(7, type, text));
}

std::string repeated(const char* text, int times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
}

void refused_json(const std::string& json, const std::string& words) {
    try {
        Keyset::parse(json);
        FAIL() << json;
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_KEYSET) << json;
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what() << '\n' << json;
        EXPECT_EQ(std::string(e.what()).find("EgcIg"), std::string::npos) << e.what();
    }
}

TEST(KeysetJson, WhatTinkWrites) {
    const Keyset keyset = Keyset::parse(
        keyset_json(7, key_json(4294967295u, hmac_type, hmac_value) + "," + key_json(7, gcm_type, gcm_value)));
    EXPECT_EQ(keyset.primary_id(), 7u);
    ASSERT_EQ(keyset.entries().size(), 2u);
    EXPECT_EQ(keyset.primary().id, 7u);
    EXPECT_EQ(keyset.primary().parameters, find_template("AES128_GCM_HKDF_4KB").parameters);
    EXPECT_EQ(keyset.primary().key.size(), 16u);
    EXPECT_EQ(keyset.primary().key[0], 0x6d);
    EXPECT_EQ(keyset.primary().key[15], 0x13);
    const StreamKey& other = keyset.entries()[0].key;
    EXPECT_EQ(other.parameters, find_template("AES256_CTR_HMAC_SHA256_1MB").parameters);
    EXPECT_EQ(other.key.size(), 32u);
    EXPECT_EQ(other.id, 4294967295u);
    ASSERT_EQ(keyset.usable().size(), 2u);
    EXPECT_EQ(keyset.usable()[0]->id, 7u);  // the primary key comes first
}

TEST(KeysetJson, OtherSpellingsOfTheSame) {
    const std::string text = usual();
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"\"keyId\": 7", "\"keyId\": \"7\""},
             {"\"primaryKeyId\": 7", "\"primaryKeyId\":\t\"7\"\r\n "},
             {"com/google", "com\\/google"},
             {"AesGcm", "\\u0041esGcm"},
             {"\"RAW\"", "\"TINK\""},
         }) {
        EXPECT_EQ(Keyset::parse(replaced(text, from, to)).primary().id, 7u) << to;
    }
    EXPECT_EQ(Keyset::parse(" \n" + text + "\n\t ").primary().id, 7u);
    EXPECT_EQ(Keyset::parse("{\"key\": [" + key_json(7, gcm_type, gcm_value) + "], \"primaryKeyId\": 7}").primary().id,
              7u);
}

TEST(KeysetJson, WrittenAndReadAgain) {
    Keyset keyset;
    for (const StreamTemplate& t : all_templates()) {
        if (!t.parameters.format->tink_type.empty()) keyset.add(t.name);
    }
    const std::uint32_t destroyed = keyset.entries()[1].key.id, disabled = keyset.entries()[2].key.id;
    keyset.set_state(destroyed, KeyState::destroyed);
    keyset.set_state(disabled, KeyState::disabled);
    keyset.promote(keyset.entries()[5].key.id);
    const SecretVector json = keyset.to_json();
    const Keyset again = Keyset::parse(JsonReader::as_text(json));
    EXPECT_EQ(again.primary_id(), keyset.primary_id());
    ASSERT_EQ(again.entries().size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) {
        const auto &a = keyset.entries()[i], &b = again.entries()[i];
        EXPECT_EQ(a.key.id, b.key.id);
        EXPECT_EQ(a.state, b.state);
        EXPECT_EQ(a.for_files, b.for_files);
        EXPECT_TRUE(std::equal(a.key.key.begin(), a.key.key.end(), b.key.key.begin(), b.key.key.end()));
        EXPECT_EQ(a.key.parameters, b.key.parameters);
    }
    const SecretVector twice = again.to_json();
    EXPECT_EQ(JsonReader::as_text(json), JsonReader::as_text(twice));
}

// Unknown parts of a keyset are kept: keys of other types, and fields from newer versions of Tink.
TEST(KeysetJson, WhatIsNotKnownIsKept) {
    const char* aead = "type.googleapis.com/google.crypto.tink.AesGcmKey";
    std::string text = keyset_json(
        7, key_json(7, gcm_type, "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21QTeAU=") + "," + key_json(8, aead, "GhAAAQID"));
    text =
        replaced(text, "\"keyId\": 8, \"outputPrefixType\": \"RAW\"", "\"keyId\": 8, \"outputPrefixType\": \"TINK\"");
    Keyset keyset = Keyset::parse(text);
    EXPECT_FALSE(keyset.entries()[1].for_files);
    EXPECT_EQ(keyset.usable().size(), 1u);
    EXPECT_THROW(keyset.promote(8), Error);
    const SecretVector json = keyset.to_json();
    const std::string written(JsonReader::as_text(json));
    for (const char* kept : {"eAU=", aead, "GhAAAQID", "TINK"})
        EXPECT_NE(written.find(kept), std::string::npos) << kept;
}

TEST(KeysetJson, AForeignPrimaryDecryptsOnly) {
    const std::string other = key_json(8, "type.googleapis.com/google.crypto.tink.AesGcmKey", "GhAAAQID");
    const Keyset keyset = Keyset::parse(keyset_json(8, key_json(7, gcm_type, gcm_value) + "," + other));
    EXPECT_EQ(keyset.usable().size(), 1u);
    try {
        (void)keyset.primary();
        ADD_FAILURE() << "it is not a key for files";
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("the primary key is not for files"), std::string::npos) << e.what();
    }
    refused_json(keyset_json(8, other), "no enabled key for files");
    refused_json(keyset_json(8, other + "," + key_json(7, gcm_type, gcm_value, "DISABLED")),
                 "no enabled key for files");
}

TEST(KeysetJson, NotJson) {
    const std::string text = usual();
    for (std::size_t n = 0; n < text.size(); ++n) refused_json(text.substr(0, n), "keyset: byte ");
    for (const char* more : {"x", "{}", ",", "]", "}", "0"}) refused_json(text + more, "expected the end");
    refused_json(text + std::string(1, '\0'), "expected the end");
    refused_json(replaced(text, "[", "[,"), "expected '{'");
    refused_json(replaced(text, "]", ",]"), "after ','");
    refused_json(replaced(text, "{\"p", "{,\"p"), "expected '\"'");
    refused_json(replaced(text, "]}", "],}"), "after ','");
    refused_json(replaced(text, "\"primaryKeyId\"", "'primaryKeyId'"), "expected '\"'");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\nETRIC"), "string");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\xc3\xa4TRIC"), "string");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\\xTRIC"), "escape");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\\u12"), "hexadecimal");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\\u+123"), "hexadecimal");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\x7fTRIC"), "string");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\\u0080"), "ASCII");
    refused_json(replaced(text, "SYMMETRIC", "SYMM\\u00e4"), "ASCII");
    // The fault is directly before the key. The message does not show the key, which refused_json() checks.
    refused_json(replaced(text, "\"value\": ", "\"value\": x"), "expected '\"'");
    // The text can be read, but writing it would require escapes.
    for (const char* escape : {"\\u0000", "\\u001f", "\\u007f", "\\n", "\\\"", "\\\\"}) {
        refused_json(replaced(text, "google.crypto", std::string("google") + escape + "crypto"), "has an invalid type");
        refused_json(replaced(replaced(text, "ENABLED", "DESTROYED"), "google.crypto",
                              std::string("google") + escape + "crypto"),
                     "has an invalid type");
    }
    EXPECT_EQ(Keyset::parse("\xef\xbb\xbf" + text).primary_id(), Keyset::parse(text).primary_id());
    refused_json("\xef\xbb\xbf\xef\xbb\xbf" + text, "byte 0");
    std::string wide = "\xff\xfe";
    for (const char c : text) wide += {c, '\0'};
    refused_json(wide, "is text in UTF-16; save it as UTF-8");
    refused_json(repeated("[", 100000), "expected '{'");
    refused_json(repeated("{\"key\":[", 1), "byte 8");
    refused_json(text + std::string(1 << 20, ' '), "longer than 1 MiB");
}

TEST(KeysetJson, NumbersAreWholeAndSmall) {
    for (const char* number : {"-7", "+7", "7.0", "7e0", "07", "4294967296", "99999999999999999999", "\"\"", "\"7 \"",
                               "\"0x7\"", "true", "null", "[7]", ""}) {
        refused_json(replaced(usual(), "\"keyId\": 7", std::string("\"keyId\": ") + number), "byte ");
        refused_json(replaced(usual(), "\"primaryKeyId\": 7", std::string("\"primaryKeyId\": ") + number), "byte ");
    }
}

TEST(KeysetJson, MembersThatAreMissingUnknownOrTwice) {
    refused_json("{}", "is empty");
    refused_json("[]", "expected '{'");
    refused_json(keyset_json(7, ""), "is empty");
    refused_json(replaced(usual(), "\"primaryKeyId\": 7, ", ""), "does not name a primary");
    refused_json(keyset_json(8, key_json(7, gcm_type, gcm_value)), "its primary, key 8, is missing");
    refused_json(keyset_json(7, key_json(7, gcm_type, gcm_value, "DISABLED")), "is the primary but not enabled");
    refused_json(keyset_json(7, key_json(7, gcm_type, gcm_value, "DESTROYED")), "is the primary but not enabled");
    refused_json(keyset_json(7, key_json(7, gcm_type, gcm_value) + "," + key_json(7, gcm_type, gcm_value)),
                 "two keys with the number 7");
    const auto with_id = [](int id) { return key_json(id, gcm_type, gcm_value); };
    refused_json(keyset_json(7, with_id(7) + "," + with_id(8) + "," + with_id(7)), "two keys with the number 7");
    refused_json(replaced(usual(), "\"status\": \"ENABLED\", ", ""), "no status");
    refused_json(replaced(usual(), "ENABLED", "UNKNOWN_STATUS"), "a status");
    refused_json(replaced(usual(), "ENABLED", "enabled"), "a status");
    refused_json(replaced(usual(), ", \"outputPrefixType\": \"RAW\"", ""), "no outputPrefixType");
    refused_json(replaced(usual(), "RAW", "RAWER"), "prefix");
    refused_json(replaced(usual(), "\"keyId\": 7, ", ""), "no keyId");
    refused_json(replaced(usual(), data_json(gcm_type, gcm_value), ""), "has no data");
    refused_json(replaced(usual(), "SYMMETRIC", "ASYMMETRIC_PUBLIC"), "symmetric");
    refused_json(replaced(usual(), "SYMMETRIC", "UNKNOWN"), "key material");
    refused_json(replaced(usual(), "\"status\"", "\"keyId\": 7, \"status\""), "not there already");
    refused_json(replaced(usual(), "\"status\"", "\"comment\": \"x\", \"status\""), "before it");
    refused_json(replaced(usual(), "\"primaryKeyId\"", "\"encryptedKeyset\": \"AAAA\", \"primaryKeyId\""),
                 "is encrypted");
    refused_json(replaced(usual(), "AesGcm", "\\\"esGcm"), "an invalid type");
}

TEST(KeysetJson, Base64IsCanonical) {
    for (const char* value : {"EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21Q", "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21Q===", "====",
                              "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21-_", "EgcIgCAQEBgDGhBt6RQfpkHZ voo2h8jo21Q", "=gcI",
                              "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo2R==", "EgcIgCAQEBgDGhBt6RQfpkHZvoo2h8jo21R="}) {
        refused_json(replaced(usual(), gcm_value, value), "base64");
    }
}

TEST(KeysetJson, ParametersByTinksRules) {
    const std::string key16 = "1a10" + std::string(32, '5'), key32 = "1a20" + std::string(64, '5');
    const auto usable = [](const std::string& hex, const char* type = gcm_type) {
        EXPECT_NO_THROW(Keyset::parse(with_value(hex, type))) << hex;
    };
    usable("1207088020101018031a10" + std::string(32, '5'));
    usable("1206082910101803" + key16);  // 41 bytes, which leave room for one byte of plaintext
    refused_json(with_value("12060828101018"
                            "03" +
                            key16),
                 "segments of 40 bytes; they must have 41");
    usable("1206083910201803" + key32);  // 57 bytes for AES-256
    refused_json(with_value("12060838102018"
                            "03" +
                            key32),
                 "segments of 56 bytes");
    usable("1209088080802010101803" + key16);  // segments of 64 MiB
    refused_json(with_value("12090881808020101018"
                            "03" +
                            key16),
                 "segments of 67108865 bytes");
    refused_json(with_value("120a08ffffffff0f101018"
                            "03" +
                            key16),
                 "segments of 4294967295 bytes");
    refused_json(with_value("12050880201010" + key16), "hash type 0");
    for (const char* hash : {"01", "03", "04"}) usable("120708802010101" + std::string("8") + hash + key16);
    for (const char* hash : {"00", "02", "05", "06"})
        refused_json(with_value("120708802010101" + std::string("8") + hash + key16), "hash type");
    refused_json(with_value("1207088020101818031a18" + std::string(48, '5')), "AES keys of 24 bytes");
    refused_json(with_value("1207088020102018"
                            "03" +
                            key16),
                 "a key is 16 bytes long");
    usable("120708802010101803" + key32);  // more bytes than AES uses
    refused_json(with_value("1207088020101018"
                            "03"),
                 "a key is 0 bytes long");
    refused_json(with_value("08011207088020101018"
                            "03" +
                            key16),
                 "version 1");
    usable("0800120708802010101803" + key16);
    refused_json(with_value(key16), "AES keys of 0 bytes");

    usable("120d088020101018032204080310201a10" + std::string(32, '5'), hmac_type);
    usable("120d0880201010180322040803100a" + key16, hmac_type);
    refused_json(with_value("120d08802010101803220408031009" + key16, hmac_type), "tags of 9 bytes");
    refused_json(with_value("120d08802010101803220408031021" + key16, hmac_type), "tags of 33 bytes");
    usable("120d08802010101803220408041040" + key16, hmac_type);
    refused_json(with_value("120d08802010101803220408041041" + key16, hmac_type), "tags of 65 bytes");
    usable("120d08802010101803220408011014" + key16, hmac_type);
    refused_json(with_value("120d08802010101803220408021014" + key16, hmac_type), "hash type 2");
    refused_json(with_value("1207088020101018"
                            "03" +
                                key16,
                            hmac_type),
                 "hash type 0");
    usable("120c083910101803220408031020" + key16, hmac_type);  // 57 = 1 + 16 + 7 + 32 + 1
    refused_json(with_value("120c083810101803220408031020" + key16, hmac_type), "segments of 56 bytes");
}

TEST(KeysetJson, Protobuf) {
    const std::string key16 = "1a10" + std::string(32, '5'), parameters = "120708802010101803";
    const auto usable = [](const std::string& hex) { EXPECT_NO_THROW(Keyset::parse(with_value(hex))) << hex; };
    usable(key16 + parameters);                // any order is valid
    usable("1a0100" + parameters + key16);     // of several fields with the same number, the last one counts
    usable("1203088020120410101803" + key16);  // parts of a message are merged
    // Unknown fields of every kind are skipped.
    usable(parameters + key16 + "78057a01007900112233445566777d00112233");
    refused_json(with_value(parameters + key16 + "7b7c"), "unknown kind");  // groups
    refused_json(with_value(parameters + key16 + "7e"), "unknown kind");
    refused_json(with_value(parameters + key16 + "0000"), "unknown field");
    refused_json(with_value(parameters + key16 + "808080801000"), "unknown field");
    refused_json(with_value(parameters + "1810"), "a number in place of bytes");
    refused_json(with_value("0a0100" + parameters + key16), "bytes in place of a number");
    refused_json(with_value(parameters + "1a11" + std::string(32, '5')), "truncated");
    refused_json(with_value("1208088020101018"
                            "03"),
                 "truncated");
    refused_json(with_value(parameters + key16 + "78"), "truncated");
    refused_json(with_value(parameters + key16 + "7880"), "truncated");
    refused_json(with_value(parameters + key16 + "78ffffffffffffffffff02"), "too large");
    refused_json(with_value(parameters + key16 + "78ffffffffffffffffff8001"), "too");
    usable(parameters + key16 + "78ffffffffffffffffff01");
    refused_json(with_value("120a08808080801010101803" + key16), "too large");  // a segment size of 2^32
}

}  // namespace
}  // namespace warpaes::test
