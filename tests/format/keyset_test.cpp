// Tests keysets: templates, raw keys, and the lifecycle of a key.
#include "format/keyset.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "keyset_texts.hpp"
#include "segment_cases.hpp"

namespace warpaes::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(Keyset, TemplatesAreDifferentAndFoundByName) {
    EXPECT_GE(all_templates().size(), 10u);
    EXPECT_EQ(template_at(0)->name, "AES256_GCM_HKDF_1MB");  // the first template is the default
    EXPECT_EQ(template_at(all_templates().size()), nullptr);
    for (const StreamTemplate& t : all_templates()) {
        EXPECT_EQ(find_template(t.name).parameters, t.parameters);
        EXPECT_EQ(template_name_of(t.parameters), t.name);
    }
    StreamParameters other = template_at(0)->parameters;
    other.segment_bytes = 8192;
    EXPECT_EQ(template_name_of(other), "");
    refused(WARPAES_ERROR_ARGUMENT, "AES128_GCM_HKDF_4KB", [] { find_template("AES128_GCM"); });
}

TEST(Keyset, RawKeys) {
    for (const StreamTemplate& t : all_templates()) {
        const bool c2sp = t.parameters.format->tink_type.empty();
        const std::size_t least = t.parameters.aes_key_bytes;
        Bytes key(least + 1, 0x5a);
        const Keyset keyset = Keyset::from_raw(t.name, std::span(key).first(least));
        EXPECT_EQ(keyset.primary().parameters, t.parameters);
        EXPECT_EQ(keyset.primary().key.size(), least);
        EXPECT_EQ(keyset.usable().size(), 1u);
        refused(WARPAES_ERROR_KEY_LENGTH, std::to_string(least),
                [&] { Keyset::from_raw(t.name, std::span(key).first(least - 1)); });
        refused(WARPAES_ERROR_KEY_LENGTH, "got 0", [&] { Keyset::from_raw(t.name, {}); });
        if (c2sp) {
            refused(WARPAES_ERROR_KEY_LENGTH, std::to_string(least) + " bytes, got " + std::to_string(least + 1),
                    [&] { Keyset::from_raw(t.name, key); });
            refused(WARPAES_ERROR_KEYSET, "store it as a raw key", [&] { (void)keyset.to_json(); });
        } else {
            EXPECT_NO_THROW(Keyset::from_raw(t.name, key));
            EXPECT_NO_THROW((void)keyset.to_json());
        }
    }
    refused(WARPAES_ERROR_KEY_LENGTH, "requires 16 bytes, got 32; warpaes 0.1 accepted 32",
            [] { Keyset::from_raw("C2SP_CHUNKED_128", Bytes(32)); });
    refused(WARPAES_ERROR_ARGUMENT, "template", [] { Keyset::from_raw("x", Bytes(32)); });
}

TEST(Keyset, Rotation) {
    Keyset keyset;
    refused(WARPAES_ERROR_KEYSET, "is empty", [&] { (void)keyset.primary(); });
    refused(WARPAES_ERROR_KEYSET, "is empty", [&] { (void)keyset.to_json(); });
    const std::uint32_t first = keyset.add("AES256_GCM_HKDF_1MB");
    const std::uint32_t second = keyset.add("AES128_CTR_HMAC_SHA256_4KB");
    EXPECT_EQ(keyset.primary().id, first);
    for (const KeyState state : {KeyState::disabled, KeyState::destroyed}) {
        refused(WARPAES_ERROR_ARGUMENT, "is the primary", [&] { keyset.set_state(first, state); });
    }
    refused(WARPAES_ERROR_ARGUMENT, "is the primary", [&] { keyset.remove(first); });
    EXPECT_NO_THROW(keyset.set_state(first, KeyState::enabled));

    keyset.promote(second);
    EXPECT_EQ(keyset.primary().id, second);
    EXPECT_EQ(keyset.usable()[0]->id, second);
    EXPECT_EQ(keyset.usable()[1]->id, first);
    keyset.set_state(first, KeyState::disabled);
    EXPECT_EQ(keyset.usable().size(), 1u);
    refused(WARPAES_ERROR_ARGUMENT, "enable it first", [&] { keyset.promote(first); });
    keyset.set_state(first, KeyState::enabled);
    EXPECT_EQ(keyset.usable().size(), 2u);
    keyset.set_state(first, KeyState::destroyed);
    EXPECT_TRUE(keyset.entries()[0].key.key.empty());
    EXPECT_TRUE(keyset.entries()[0].data.value.empty());
    refused(WARPAES_ERROR_ARGUMENT, "is destroyed", [&] { keyset.set_state(first, KeyState::enabled); });
    EXPECT_NO_THROW(keyset.set_state(first, KeyState::destroyed));
    keyset.remove(first);
    EXPECT_EQ(keyset.entries().size(), 1u);
    EXPECT_EQ(keyset.primary().id, second);
    for (const std::uint32_t id : {first, second + 1}) {
        refused(WARPAES_ERROR_ARGUMENT, "key " + std::to_string(id) + " is not in", [&] { keyset.remove(id); });
        refused(WARPAES_ERROR_ARGUMENT, "is not in", [&] { keyset.promote(id); });
        refused(WARPAES_ERROR_ARGUMENT, "is not in", [&] { keyset.set_state(id, KeyState::disabled); });
    }
}

/// Reads a keyset in which another program marked a key as destroyed but left the key's bytes.
TEST(Keyset, WhatIsDestroyedIsForgottenWhenItIsRead) {
    Keyset keyset;
    keyset.add("AES128_GCM_HKDF_4KB");
    const std::uint32_t second = keyset.add("AES256_GCM_HKDF_4KB");
    const SecretVector json = keyset.to_json();
    std::string text(json.begin(), json.end());
    const std::string enabled = "ENABLED";
    const std::size_t at = text.find(enabled, text.find(enabled) + 1);
    ASSERT_NE(at, std::string::npos);
    ASSERT_FALSE(keyset.entries()[1].data.value.empty());
    text.replace(at, enabled.size(), "DESTROYED");
    const Keyset read = Keyset::parse(text);
    ASSERT_EQ(read.entries().size(), 2u);
    EXPECT_EQ(read.entries()[1].key.id, second);
    EXPECT_EQ(read.entries()[1].state, KeyState::destroyed);
    EXPECT_TRUE(read.entries()[1].data.value.empty());
    EXPECT_FALSE(read.entries()[0].data.value.empty());
    EXPECT_FALSE(read.entries()[1].for_files);
}

TEST(Keyset, OthersAreTriedBehindItsOwn) {
    Keyset keyset, other;
    const std::uint32_t first = keyset.add("AES256_GCM_HKDF_1MB");
    const std::string before = [&] {
        const auto json = keyset.to_json();
        return std::string(json.begin(), json.end());
    }();
    other.add("AES128_GCM_HKDF_4KB");
    const std::uint32_t second = other.add("AES128_GCM_HKDF_1MB");
    other.promote(second);
    const std::uint32_t disabled = other.add("AES128_GCM_HKDF_1MB");
    other.set_state(disabled, KeyState::disabled);
    keyset.extend(other);
    keyset.extend(Keyset::from_raw("C2SP_CHUNKED_256", Bytes(32)));
    const auto keys = keyset.usable();
    ASSERT_EQ(keys.size(), 4u);
    EXPECT_EQ(keys[0]->id, first);
    EXPECT_EQ(keys[1]->id, second);
    EXPECT_EQ(keys[3]->id, 1u);
    EXPECT_EQ(keyset.primary().id, first);
    EXPECT_EQ(keyset.entries().size(), 1u);
    const auto after = keyset.to_json();
    EXPECT_EQ(std::string(after.begin(), after.end()), before);
    keyset.extend(keyset);
    EXPECT_EQ(keyset.usable().size(), 8u);
}

TEST(Keyset, KeysAndNumbersAreRandom) {
    Keyset keyset;
    std::set<std::uint32_t> ids;
    std::set<std::string> keys;
    for (int i = 0; i < 1000; ++i) ids.insert(keyset.add("AES128_GCM_HKDF_4KB"));
    for (const auto& entry : keyset.entries()) keys.insert({entry.key.key.begin(), entry.key.key.end()});
    EXPECT_EQ(ids.size(), 1000u);
    EXPECT_EQ(ids.count(0), 0u);
    EXPECT_EQ(keys.size(), 1000u);
    refused(WARPAES_ERROR_KEYSET, "1000 keys", [&] { keyset.add("AES128_GCM_HKDF_4KB"); });
    EXPECT_LT(keyset.to_json().size(), 1u << 20);
}

}  // namespace
}  // namespace warpaes::test
