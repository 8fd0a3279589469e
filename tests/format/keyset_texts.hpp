// Shared code for keyset tests: texts, bytes, and checks that a keyset is refused.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/secret.hpp"

namespace warpaes::test {

/// Replaces the first occurrence of `from`, which must exist, with `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

inline std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string text(const SecretVector& v) {
    return {v.begin(), v.end()};
}

inline constexpr const char* gcm_type = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

inline std::string base64(std::span<const std::uint8_t> from) {
    std::string to((from.size() + 2) / 3 * 4 + 1, '\0');
    to.resize(static_cast<std::size_t>(
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(to.data()), from.data(), static_cast<int>(from.size()))));
    return to;
}

inline std::string keyset_json(std::uint32_t primary, const std::string& keys) {
    return "{\"primaryKeyId\": " + std::to_string(primary) + ", \"key\": [" + keys + "]}";
}

/// Checks that `body` throws an error with this status, whose message contains these words.
inline void refused(warpaes_status status, const std::string& words, const std::function<void()>& body) {
    try {
        body();
        FAIL() << "accepted, but this was expected: " << words;
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), status) << e.what();
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

}  // namespace warpaes::test
