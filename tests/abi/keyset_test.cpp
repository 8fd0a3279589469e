// Tests keysets through the C ABI; tests/format tests their contents and encoding.
#include <gtest/gtest.h>
#include <warpaes/files.h>

#include <string>
#include <vector>

namespace {

struct Handle {
    warpaes_keyset* keyset = nullptr;
    ~Handle() { warpaes_keyset_destroy(keyset); }
};

std::string written(const warpaes_keyset* keyset) {
    std::size_t length = 0;
    EXPECT_EQ(warpaes_keyset_write(keyset, nullptr, 0, &length), WARPAES_ERROR_BUFFER_TOO_SMALL);
    std::string text(length + 1, '#');
    std::size_t again = 0;
    EXPECT_EQ(warpaes_keyset_write(keyset, text.data(), length - 1, &again), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(again, length);
    EXPECT_EQ(text, std::string(length + 1, '#'));
    EXPECT_EQ(warpaes_keyset_write(keyset, text.data(), length, &again), WARPAES_OK);
    EXPECT_EQ(text.back(), '#');  // no NUL was written
    text.pop_back();
    return text;
}

warpaes_key_info info_of(const warpaes_keyset* keyset, std::size_t index) {
    warpaes_key_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(warpaes_keyset_query(keyset, index, &info), WARPAES_OK);
    return info;
}

TEST(Keysets, Templates) {
    const std::size_t count = warpaes_template_count();
    ASSERT_GE(count, 10u);
    EXPECT_STREQ(warpaes_template_name(0), "AES256_GCM_HKDF_1MB");
    EXPECT_STREQ(warpaes_template_name(9), "C2SP_CHUNKED_128");
    EXPECT_EQ(warpaes_template_name(count), nullptr);
    for (std::size_t i = 0; i < count; ++i) {
        warpaes_template_info info = WARPAES_TEMPLATE_INFO_INIT;
        ASSERT_EQ(warpaes_template_query(warpaes_template_name(i), &info), WARPAES_OK);
        EXPECT_TRUE(info.key_bits == 128 || info.key_bits == 256) << info.key_bits;
        EXPECT_GT(info.segment_bytes, info.header_bytes);
        Handle empty;
        ASSERT_EQ(warpaes_keyset_create(&empty.keyset), WARPAES_OK);
        ASSERT_EQ(warpaes_keyset_add(empty.keyset, warpaes_template_name(i), nullptr), WARPAES_OK);
        std::size_t length = 0;
        EXPECT_EQ(warpaes_keyset_write(empty.keyset, nullptr, 0, &length),
                  info.raw_only != 0 ? WARPAES_ERROR_KEYSET : WARPAES_ERROR_BUFFER_TOO_SMALL);
    }
    warpaes_template_info tink = WARPAES_TEMPLATE_INFO_INIT, c2sp = WARPAES_TEMPLATE_INFO_INIT;
    ASSERT_EQ(warpaes_template_query("AES128_CTR_HMAC_SHA256_4KB", &tink), WARPAES_OK);
    EXPECT_STREQ(tink.format, "Tink streaming AEAD");
    EXPECT_EQ(tink.header_bytes, 24u);
    EXPECT_EQ(tink.segment_bytes, 4096u);
    EXPECT_EQ(tink.has_mark, 1u);
    ASSERT_EQ(warpaes_template_query("C2SP_CHUNKED_256", &c2sp), WARPAES_OK);
    EXPECT_STREQ(c2sp.format, "C2SP chunked encryption");
    EXPECT_EQ(c2sp.header_bytes, 56u);
    EXPECT_EQ(c2sp.segment_bytes, 16400u);
    EXPECT_EQ(c2sp.has_mark, 0u);
    EXPECT_EQ(warpaes_template_query("C2SP", &c2sp), WARPAES_ERROR_ARGUMENT);
}

TEST(Keysets, APeekThatFailsGivesNone) {
    Handle before;
    ASSERT_EQ(warpaes_keyset_create(&before.keyset), WARPAES_OK);
    for (const char* const json : {static_cast<const char*>(nullptr), "", "{"}) {
        warpaes_keyset* keyset = before.keyset;
        EXPECT_NE(warpaes_keyset_peek(json, json != nullptr ? std::string(json).size() : 0, nullptr, &keyset),
                  WARPAES_OK);
        EXPECT_EQ(keyset, nullptr);
    }
}

TEST(Keysets, UnderAKeyEncryptionKey) {
    Handle a, b, seen;
    std::uint32_t id = 0;
    ASSERT_EQ(warpaes_keyset_create(&a.keyset), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(a.keyset, "AES128_GCM_HKDF_4KB", &id), WARPAES_OK);
    const std::string kek(16, '\x9b'), aad = "backup";
    const auto wrap = [&](char* json, std::size_t capacity, std::size_t& length) {
        return warpaes_keyset_wrap_under(a.keyset, kek.data(), kek.size(), aad.data(), aad.size(), json, capacity,
                                         &length);
    };
    std::size_t length = 0;
    EXPECT_EQ(wrap(nullptr, 0, length), WARPAES_ERROR_BUFFER_TOO_SMALL);
    std::string json(length + 1, '#');
    EXPECT_EQ(wrap(json.data(), length - 1, length), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(json, std::string(length + 1, '#'));
    ASSERT_EQ(wrap(json.data(), length, length), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(json.back(), '#');
    json.pop_back();
    const auto open = [&](std::string_view key, std::string_view data, warpaes_keyset** keyset) {
        return warpaes_keyset_unwrap_under(json.data(), json.size(), key.data(), key.size(), data.data(), data.size(),
                                           keyset);
    };
    ASSERT_EQ(open(kek, aad, &b.keyset), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(written(b.keyset), written(a.keyset));

    warpaes_keyset* none = a.keyset;
    EXPECT_EQ(open(std::string(16, '\x9a'), aad, &none), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(open(kek, "", &none), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(std::string(warpaes_last_error()).substr(0, 5), "kek: ");
    EXPECT_EQ(open("k", aad, &none), WARPAES_ERROR_KEYSET);
    EXPECT_EQ(open(kek, std::string((1 << 20) + 1, 'a'), &none), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "aad: is longer than 1 MiB");
    EXPECT_EQ(open(std::string((1 << 20) + 1, 'a'), aad, &none), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "kek: is longer than 1 MiB");
    EXPECT_EQ(warpaes_keyset_unwrap(json.data(), json.size(), "x", 1, &none), WARPAES_ERROR_KEYSET);

    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    ASSERT_EQ(warpaes_keyset_peek(json.data(), json.size(), &cost, &seen.keyset), WARPAES_OK);
    EXPECT_EQ(cost.n + cost.r + cost.p, 0u);
    EXPECT_EQ(cost.struct_size, sizeof cost);
    ASSERT_EQ(warpaes_keyset_count(seen.keyset), 1u);
    EXPECT_EQ(info_of(seen.keyset, 0).key_id, id);
    std::vector<char> room(4096);
    EXPECT_EQ(
        warpaes_keyset_wrap_under(seen.keyset, kek.data(), kek.size(), nullptr, 0, room.data(), room.size(), &length),
        WARPAES_ERROR_KEYSET);
}

TEST(Keysets, FromTheFirstKeyToTheLast) {
    Handle a, b;
    ASSERT_EQ(warpaes_keyset_create(&a.keyset), WARPAES_OK);
    EXPECT_EQ(warpaes_keyset_count(a.keyset), 0u);
    std::uint32_t first = 0, second = 0;
    ASSERT_EQ(warpaes_keyset_add(a.keyset, "AES256_GCM_HKDF_1MB", &first), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(a.keyset, "AES128_CTR_HMAC_SHA256_4KB", &second), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(a.keyset, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_promote(a.keyset, second), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_set_state(a.keyset, first, WARPAES_KEY_DISABLED), WARPAES_OK);

    const std::string text = written(a.keyset);
    ASSERT_EQ(warpaes_keyset_parse(text.data(), text.size(), &b.keyset), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(written(b.keyset), text);
    ASSERT_EQ(warpaes_keyset_count(b.keyset), 3u);
    warpaes_key_info info = info_of(b.keyset, 0);
    EXPECT_EQ(info.key_id, first);
    EXPECT_EQ(info.state, WARPAES_KEY_DISABLED);
    EXPECT_EQ(info.primary, 0);
    EXPECT_STREQ(info.template_name, "AES256_GCM_HKDF_1MB");
    EXPECT_EQ(info.key_bits, 256u);
    EXPECT_EQ(info.segment_bytes, 1u << 20);
    info = info_of(b.keyset, 1);
    EXPECT_EQ(info.key_id, second);
    EXPECT_EQ(info.primary, 1);
    EXPECT_EQ(info.key_bits, 128u);

    ASSERT_EQ(warpaes_keyset_set_state(b.keyset, first, WARPAES_KEY_DESTROYED), WARPAES_OK);
    info = info_of(b.keyset, 0);
    EXPECT_EQ(info.state, WARPAES_KEY_DESTROYED);
    EXPECT_STREQ(info.template_name, "");
    EXPECT_EQ(info.key_bits, 0u);
    ASSERT_EQ(warpaes_keyset_remove(b.keyset, first), WARPAES_OK);
    EXPECT_EQ(warpaes_keyset_count(b.keyset), 2u);
    warpaes_keyset_destroy(nullptr);
}

TEST(Keysets, WhatIsWrongIsNamed) {
    Handle a;
    ASSERT_EQ(warpaes_keyset_create(&a.keyset), WARPAES_OK);
    const auto refused = [](warpaes_status wanted, const std::string& words, warpaes_status status) {
        EXPECT_EQ(status, wanted) << words;
        EXPECT_NE(std::string(warpaes_last_error()).find(words), std::string::npos) << warpaes_last_error();
    };
    warpaes_keyset* none = a.keyset;
    const std::vector<std::uint8_t> key(31);
    refused(WARPAES_ERROR_ARGUMENT, "keyset: is null", warpaes_keyset_create(nullptr));
    refused(WARPAES_ERROR_ARGUMENT, "json: is null", warpaes_keyset_parse(nullptr, 0, &none));
    EXPECT_EQ(none, nullptr);
    refused(WARPAES_ERROR_KEYSET, "byte 0", warpaes_keyset_parse("", 0, &none));
    refused(WARPAES_ERROR_KEYSET, "is empty", warpaes_keyset_parse("{}", 2, &none));
    refused(WARPAES_ERROR_ARGUMENT, "template: is null", warpaes_keyset_from_raw(nullptr, key.data(), 31, &none));
    refused(WARPAES_ERROR_ARGUMENT, "key: is null", warpaes_keyset_from_raw("C2SP_CHUNKED_128", nullptr, 0, &none));
    refused(WARPAES_ERROR_KEY_LENGTH, "16 bytes", warpaes_keyset_from_raw("C2SP_CHUNKED_128", key.data(), 31, &none));
    refused(WARPAES_ERROR_ARGUMENT, "template: unknown template 'x'", warpaes_keyset_add(a.keyset, "x", nullptr));
    refused(WARPAES_ERROR_ARGUMENT, "keyset: is null", warpaes_keyset_add(nullptr, "AES128_GCM_HKDF_4KB", nullptr));
    refused(WARPAES_ERROR_ARGUMENT, "key 5 is not in", warpaes_keyset_promote(a.keyset, 5));
    refused(WARPAES_ERROR_ARGUMENT, "key 5 is not in", warpaes_keyset_remove(a.keyset, 5));
    refused(WARPAES_ERROR_ARGUMENT, "state 0",
            warpaes_keyset_set_state(a.keyset, 5, static_cast<warpaes_key_state>(0)));
    std::size_t length = 1;
    refused(WARPAES_ERROR_KEYSET, "is empty", warpaes_keyset_write(a.keyset, nullptr, 0, &length));
    EXPECT_EQ(length, 0u);
    warpaes_key_info info{};
    refused(WARPAES_ERROR_ARGUMENT, "struct_size", warpaes_keyset_query(a.keyset, 0, &info));
    info.struct_size = sizeof info;
    refused(WARPAES_ERROR_ARGUMENT, "beyond the last", warpaes_keyset_query(a.keyset, 0, &info));
    EXPECT_EQ(warpaes_keyset_count(nullptr), 0u);
}

}  // namespace
